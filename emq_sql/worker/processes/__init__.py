"""Handlers in child processes: `pool` is the executor, `serving` what a child does.

In the worker: the pool has a board (who runs what), and a slot for each child, whose thread starts
it (`spawning`), talks to it (`talk`, with an `errand` for each run) and buries it. In a child:
`attached` is its tie to the worker, `fargrip` the hold of a run on its lease. Between them JSON
frames travel (`channel`, `frames`).
"""
