"""The worker: claims jobs, runs their handlers, keeps their leases and settles them.

Threads of one worker: the loop (claims and settles, one connection), the keeper (extends leases,
one connection), the watch (lapses and timeouts, no connection), and one for each slot. What they
share is the register of held jobs, `held.Held`, and the inbox of the loop.
"""
