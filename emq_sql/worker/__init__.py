"""The worker: claims jobs, runs their handlers, keeps their leases and settles them.

Threads of one worker: the loop (claims and settles, one connection), the keeper (extends leases,
one connection), the watch (lapses and timeouts, no connection). Handlers run in none of them: an
`executor.Executor` has threads, an event loop or child processes for them. What all share is the
register of held jobs, `held.Held`, and the inbox of the loop.
"""
