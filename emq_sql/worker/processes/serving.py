"""A child's work: the jobs that its worker sends, one after the other."""

from __future__ import annotations

import contextlib
import contextvars
import random
import sys
from collections.abc import Awaitable, Mapping
from functools import partial

from emq_sql.worker.effects import Effects
from emq_sql.worker.endings import Ending
from emq_sql.worker.handler import Handler
from emq_sql.worker.hooks import Hooks
from emq_sql.worker.processes.attached import Attached
from emq_sql.worker.processes.coroutines import Coroutines
from emq_sql.worker.processes.fargrip import FarGrip
from emq_sql.worker.processes.frames import ending_content
from emq_sql.worker.running import Run, awaitable


def serve(attached: Attached, handlers: Mapping[str, Handler], effects: Effects) -> None:
    """Run jobs in this thread, which should be the main one, until the worker lets the child go.

    Coroutines run on one event loop in a thread of its own, which lives as long as the child.
    """
    coroutines = Coroutines()
    rng = random.Random()  # noqa: S311 - jitter, not a secret
    hooks = Hooks()
    attached.ready()
    while (grip := attached.runs.get()) is not None:
        grip.started()
        handler = handlers.get(grip.claimed.task)
        if handler is None:  # this child has imported other code than its worker
            grip.ended({"how": "unknown task"})
            continue
        grip.stop_sql = partial(effects.stop_sql, grip.claimed.lease)
        ending = _ending(Run(handler, grip, effects, rng), handler, grip, coroutines)
        hooks.put_back()
        with contextlib.suppress(Exception):  # a handler may have closed or replaced it
            sys.stdout.flush()
        grip.ended(ending_content(ending))
    coroutines.close()


def _ending(run: Run, handler: Handler, grip: FarGrip, coroutines: Coroutines) -> Ending:
    # A context of its own: what one job sets, the next one must not see.
    context = contextvars.Context()
    if handler.is_async:
        return coroutines.ending(run, None, context, grip.stopping)
    trouble: BaseException | None = None
    value: object = None
    waits: Awaitable[object] | None = None
    try:
        value = context.run(run.call)
        waits = awaitable(value)
    except BaseException as error:  # noqa: BLE001 - also SystemExit: a job ends, not the child
        trouble = error
    if waits is not None:
        run.leave_fork(None)
        return coroutines.ending(run, waits, context, grip.stopping)
    return run.ending(value, trouble)
