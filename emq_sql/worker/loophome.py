"""One event loop, the thread that runs it, and who watches it."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Any

from emq_sql.worker.hooks import Hooks
from emq_sql.worker.loopwatch import LoopWatch
from emq_sql.worker.windup import run_on, wind_up


class LoopHome:
    """A loop that runs from `start` to `close`, in a thread of its own.

    `overdue` and `busy` are for its watch. `gone(home)` is called when it cannot be run any more:
    perhaps more than once, from any thread.
    """

    def __init__(
        self,
        overdue: Callable[[float], float | None],
        busy: Callable[[], bool],
        gone: Callable[[LoopHome], None],
    ) -> None:
        self.loop = asyncio.new_event_loop()
        self.watch = LoopWatch(overdue, busy, lambda: gone(self))
        self.hooks: Hooks | None = None
        self._gone = gone
        self._over = False
        self._thread = threading.Thread(target=self._run, name="emq-loop", daemon=True)

    def start(self) -> None:
        """Start both threads."""
        self.watch.start(self.loop, self._thread)
        self._thread.start()

    def post(self, do: Callable[..., None], *given: Any) -> bool:
        """Call it there, soon; False when the loop is closed."""
        try:
            self.loop.call_soon_threadsafe(do, *given, context=contextvars.Context())
        except RuntimeError:
            return False
        return True

    def close(self, patience: float) -> bool:
        """Wind it up, in so many seconds at most; whether its thread has ended."""
        self.post(self._wind_up)
        self._thread.join(patience)
        self.watch.close()
        return not self._thread.is_alive()

    def _wind_up(self) -> None:
        self._ends = self.loop.create_task(self._end())

    async def _end(self) -> None:
        await wind_up(self.loop)
        self._over = True
        self.loop.stop()

    def _run(self) -> None:
        self.hooks = Hooks()
        if not run_on(self.loop, lambda: self._over):
            self._gone(self)
