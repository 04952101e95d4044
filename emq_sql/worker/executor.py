"""Runs handlers in a fixed number of threads."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import logging
import os
import random
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable
from queue import SimpleQueue
from types import TracebackType
from typing import Any, NoReturn

from emq_sql.crashpoints import crash_point
from emq_sql.errors import BadPayload, LeaseLost
from emq_sql.rules import verdict
from emq_sql.rules.payload import decode
from emq_sql.worker.context import CompleteIn, Job
from emq_sql.worker.endings import CompletedByHandler, Ending, RefusedInHandler, Snoozed
from emq_sql.worker.entry import Entry
from emq_sql.worker.handler import Handler
from emq_sql.worker.held import Held

log = logging.getLogger("emq_sql.worker")


class Executor:
    """`slots` daemon threads. A handler that hangs costs its slot and nothing else.

    A handler that forks and returns in the child as well ends that child there: the job is its
    parent's, and the child would keep the parent's connections open after it.
    `ended(entry, ending)` is called in the handler's thread, with None when nothing is left to be
    settled; the slot is free by then. A snooze is told at once, before the handler has returned.
    """

    def __init__(
        self,
        slots: int,
        held: Held,
        schema: str,
        complete_in: CompleteIn,
        ended: Callable[[Entry, Ending | None], None],
    ) -> None:
        self._pid = os.getpid()
        self._slots = slots
        self._held = held
        self._schema = schema
        self._complete_in = complete_in
        self._ended = ended
        self._rng = random.Random()  # noqa: S311 - jitter, not a secret
        self._line: SimpleQueue[Entry | None] = SimpleQueue()
        self._occupied = 0
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start the threads."""
        for number in range(self._slots):
            threading.Thread(target=self._work, name=f"emq-slot-{number}", daemon=True).start()

    def submit(self, entry: Entry) -> None:
        """Run it as soon as a slot is free."""
        with self._lock:
            self._occupied += 1
        self._line.put(entry)

    @property
    def occupied(self) -> int:
        """Slots in use or spoken for."""
        with self._lock:
            return self._occupied

    def close(self) -> None:
        """Let idle threads end; nobody waits for the others."""
        for _ in range(self._slots):
            self._line.put(None)

    def _work(self) -> None:
        while (entry := self._line.get()) is not None:
            ending = self._run(entry)
            with self._lock:
                self._occupied -= 1
            self._ended(entry, ending)

    def _run(self, entry: Entry) -> Ending | None:
        handler = entry.handler
        if handler is None or not self._held.starts(entry):
            return None
        trouble: BaseException | None = None
        value: object = None
        try:
            # A context of its own: what one job sets, the next one in this thread must not see.
            value = contextvars.copy_context().run(self._call, handler, entry)
        except BaseException as error:  # noqa: BLE001 - also SystemExit: a job ends, not the worker
            trouble = error
        if os.getpid() != self._pid:
            _leave_child(trouble)
        crash_point("after-effect")
        try:
            ending = self._ending(entry, handler, value, trouble)
        except BaseException as error:  # noqa: BLE001 - a result that raises when it is read
            ending = verdict.raised(error, entry.claimed.failures, None, self._rng)
        if self._held.decide(entry):
            return ending
        if trouble is not None:
            log.warning("%s was settled before; its handler then raised %r", entry, trouble)
        return None

    def _call(self, handler: Handler, entry: Entry) -> object:
        args, kwargs = decode(entry.claimed.payload)
        if handler.takes_context:
            args = (Job(entry, self._held, self._schema, self._complete_in, self._snooze), *args)
        _must_fit(handler, args, kwargs)
        crash_point("mid-handler")
        value = handler.function(*args, **kwargs)
        return asyncio.run(_outcome(value)) if inspect.isawaitable(value) else value

    def _ending(
        self, entry: Entry, handler: Handler, value: object, trouble: BaseException | None
    ) -> Ending:
        failures, policy = entry.claimed.failures, handler.backoff
        if entry.completing:
            error = trouble or LeaseLost(
                "The handler completed the job in its own transaction, which was not committed.",
                hint="Commit the transaction before the handler returns.",
            )
            failed = verdict.raised(_without_our_frames(error), failures, policy, self._rng)
            return CompletedByHandler(failed, raised=trouble is not None)
        if trouble is None and not entry.refused:
            return verdict.returned(value)
        error = trouble or LeaseLost("The handler's completion was refused, and it went on.")
        failed = verdict.raised(_without_our_frames(error), failures, policy, self._rng)
        return RefusedInHandler(failed) if entry.refused else failed

    def _snooze(self, entry: Entry, ending: Snoozed) -> None:
        self._ended(entry, ending)


def _leave_child(trouble: BaseException | None) -> NoReturn:
    code = trouble.code if isinstance(trouble, SystemExit) else int(trouble is not None)
    with contextlib.suppress(Exception):
        if trouble is not None and not isinstance(trouble, SystemExit):
            traceback.print_exception(trouble)
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


async def _outcome(value: Awaitable[Any]) -> Any:
    return await value


def _must_fit(handler: Handler, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    try:
        signature = inspect.signature(handler.function)
    except (TypeError, ValueError):  # some functions written in C have none
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        what = f"The arguments of this job do not fit the task {handler.task!r}: {error}."
        raise BadPayload(what, hint="Was it enqueued for another version of the task?") from None


def _without_our_frames(error: BaseException) -> BaseException:
    at: TracebackType | None = error.__traceback__
    while at is not None and at.tb_frame.f_code.co_filename == __file__:
        at = at.tb_next
    return error.with_traceback(at)
