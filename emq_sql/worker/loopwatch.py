"""Watches the event loop: who blocks it, and what was cancelled there and does not end."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import weakref
from collections.abc import Callable
from time import monotonic
from typing import Any

from emq_sql.job import Claimed
from emq_sql.worker.current import running

log = logging.getLogger("emq_sql.worker")

LOOK_EVERY = 0.5
BLOCKED_AFTER = 3.0


class LoopWatch:
    """A thread that asks the loop for a sign of life while anything runs there.

    `overdue(now)` does what is due and answers when there is more. A loop that gives no sign for
    some seconds is blocked by a coroutine that does not await: the log says once whose, and where.
    `gone` is called when it is found closed.
    """

    def __init__(
        self,
        overdue: Callable[[float], float | None],
        busy: Callable[[], bool],
        gone: Callable[[], None],
    ) -> None:
        self._overdue = overdue
        self._busy = busy
        self._gone = gone
        self._wake = threading.Event()
        self._closed = False
        self._jobs: weakref.WeakKeyDictionary[asyncio.Task[Any], Claimed | None] = (
            weakref.WeakKeyDictionary()
        )
        self._asked: float | None = None
        self._said = False

    def start(self, loop: asyncio.AbstractEventLoop, runs_it: threading.Thread) -> None:
        """Start the thread that watches `loop`, whose own thread is `runs_it`."""
        self._loop = loop
        self._runs_it = runs_it
        loop.set_task_factory(self._make_task)
        threading.Thread(target=self._run, name="emq-loop-watch", daemon=True).start()

    def look(self) -> None:
        """Something was added, or stopped."""
        self._wake.set()

    def close(self) -> None:
        """End the thread."""
        self._closed = True
        self._wake.set()

    def knows(self, task: asyncio.Task[Any], claimed: Claimed) -> None:
        """This is the task of a job."""
        self._jobs[task] = claimed

    def _make_task(self, loop: asyncio.AbstractEventLoop, coro: Any, **given: Any) -> Any:
        task = asyncio.Task(coro, loop=loop, **given)
        context = given.get("context")
        self._jobs[task] = running.get() if context is None else context.get(running)
        return task

    def _run(self) -> None:
        while not self._closed:
            wait: float | None = LOOK_EVERY
            try:
                wait = self._look(monotonic())
            except Exception:
                log.exception("watching the event loop failed and goes on")
            self._wake.wait(wait)
            self._wake.clear()

    def _look(self, now: float) -> float | None:
        soonest = self._overdue(now)
        if not self._busy():
            return None
        self._look_at_loop(now)
        return LOOK_EVERY if soonest is None else min(max(soonest - now, 0.0), LOOK_EVERY)

    def _look_at_loop(self, now: float) -> None:
        if self._asked is None:
            self._asked = now
            try:
                self._loop.call_soon_threadsafe(self._alive)
            except RuntimeError:  # it is closed
                self._closed = True
                self._gone()
        elif not self._said and now - self._asked > BLOCKED_AFTER:
            self._said = True
            log.warning(
                "%s blocks the event loop since %.1f s: other coroutines wait, leases do not; %s",
                self._culprit(), now - self._asked, self._place(),
            )  # fmt: skip

    def _alive(self) -> None:
        asked, self._asked = self._asked, None
        if self._said and asked is not None:
            self._said = False
            log.info("the event loop goes on after %.1f s", monotonic() - asked)

    def _culprit(self) -> str:
        task = asyncio.current_task(self._loop)
        claimed = self._jobs.get(task) if task is not None else None
        if claimed is None:
            return "a callback or a task of no job"
        return f"job {claimed.lease.id} ({claimed.task}, attempt {claimed.lease.attempts})"

    def _place(self) -> str:
        frame = sys._current_frames().get(self._runs_it.ident or 0)
        if frame is None:
            return "at an unknown place"
        return f"{frame.f_code.co_filename}, line {frame.f_lineno}, in {frame.f_code.co_name}"
