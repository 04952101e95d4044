"""How a handler is told to stop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Literal

CancelReason = Literal["lease lost", "cancelled by an operator", "timed out", "worker stops"]


class Cancellation:
    """Told once: the first reason stands. May be asked and told from any thread; never blocks."""

    __slots__ = ("_callbacks", "_lock", "_reason")

    def __init__(self) -> None:  # of every job, and hardly one is ever told: nothing more is made
        self._lock = threading.Lock()
        self._reason: CancelReason | None = None
        self._callbacks: list[Callable[[], None]] | None = None

    @property
    def reason(self) -> CancelReason | None:
        """Why, once it is told."""
        return self._reason

    def is_set(self) -> bool:
        """Whether it is told."""
        return self._reason is not None

    def tell(self, reason: CancelReason) -> bool:
        """Tell the handler to stop; False when it was told before."""
        with self._lock:
            if self._reason is not None:
                return False
            self._reason = reason
            callbacks, self._callbacks = self._callbacks, None
        for callback in callbacks or ():
            callback()
        return True

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is told, or `timeout` seconds; whether it is told."""
        told = threading.Event()
        if self.then(told.set):
            try:
                told.wait(timeout)
            finally:
                self.forget(told.set)
        return self.is_set()

    def then(self, callback: Callable[[], None]) -> bool:
        """Have it called when it is told, by whoever tells, so it must be short; False when it is
        told already.
        """
        with self._lock:
            if self._reason is not None:
                return False
            if self._callbacks is None:
                self._callbacks = []
            self._callbacks.append(callback)
            return True

    def forget(self, callback: Callable[[], None]) -> None:
        """Do not call it any more."""
        with self._lock, suppress(ValueError):
            if self._callbacks is not None:
                self._callbacks.remove(callback)

    async def await_told(self, timeout: float | None = None) -> bool:
        """The same for a coroutine: only the task that awaits it waits."""
        loop = asyncio.get_running_loop()
        told: asyncio.Future[None] = loop.create_future()

        def settle() -> None:
            if not told.done():
                told.set_result(None)

        def tell() -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(settle)

        if self.then(tell):
            try:
                await asyncio.wait([told], timeout=timeout)
            finally:
                self.forget(tell)
        return self.is_set()
