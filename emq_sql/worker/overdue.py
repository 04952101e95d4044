"""Ends the process when its end is overdue."""

from __future__ import annotations

import logging
import os
import threading
from queue import Empty, SimpleQueue
from time import monotonic

log = logging.getLogger("emq_sql.worker")


class Overdue:
    """A process that was told to stop ends, whatever hangs: a connection, a lock, a full disk.

    `expect(seconds)` says that it should have ended by then, and may be called from signal
    handlers; the earliest counts. If it has not, it is ended with exit code 1: the leases that it
    still holds end by themselves.
    """

    def __init__(self) -> None:
        self._orders: SimpleQueue[float | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="emq-overdue", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def expect(self, seconds: float) -> None:
        """The process should have ended in so many seconds."""
        self._orders.put(seconds)

    def stop(self) -> None:
        """It ends by itself."""
        self._orders.put(None)

    def _run(self) -> None:
        until: float | None = None
        while True:
            try:
                order = self._orders.get(timeout=_left(until))
            except Empty:
                break
            if order is None:
                return
            until = min(until or float("inf"), monotonic() + order)
        # In a thread of its own: who hangs may hang in the log.
        told = threading.Thread(target=_tell, daemon=True)
        told.start()
        told.join(1.0)
        os._exit(1)


def _left(until: float | None) -> float | None:
    return None if until is None else max(until - monotonic(), 0.0)


def _tell() -> None:
    log.error("the worker should have ended by now; it is ended, and its leases end by themselves")
    for handler in logging.getLogger().handlers:
        handler.flush()
