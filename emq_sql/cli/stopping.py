"""What Ctrl-C does: it ends a command, and one that works in steps after the step it is at."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from emq_sql.protocol.bounded import BoundedConnection

LAST_STEP = 5.0  # seconds for the step that is under way


class Interrupts:
    """The handler of SIGINT while a command has a connection: what is asked on it is broken off.

    psycopg's own way takes ten seconds where nobody is at the other end, and tells it to a log.
    """

    def __init__(self, conn: BoundedConnection) -> None:
        self._conn = conn

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if not self._conn.interrupt():
            signal.default_int_handler(number, frame)

    def hurry(self) -> None:
        """What is asked may be answered, if that does not take long."""
        self._conn.hurry(LAST_STEP)


@contextmanager
def interruptible(conn: BoundedConnection) -> Iterator[None]:
    """In this block SIGINT breaks off what is asked on the connection and raises KeyboardInterrupt.

    Not where it is ignored, nor outside the main thread, which cannot handle signals.
    """
    former = signal.getsignal(signal.SIGINT)
    main = threading.current_thread() is threading.main_thread()
    if former is not signal.default_int_handler or not main:
        yield
        return
    signal.signal(signal.SIGINT, Interrupts(conn))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)


class Stop:
    """Whether somebody has asked for the end. `former` had SIGINT before."""

    def __init__(self, former: Callable[[int, FrameType | None], Any] | int | None) -> None:
        self._former = former
        self._asked = 0
        self._heard, self._say = os.pipe()
        os.set_blocking(self._say, False)

    @property
    def asked(self) -> bool:
        """True from the first signal on."""
        return self._asked > 0

    def wait(self, seconds: float) -> bool:
        """Wait so long, or until somebody asks; whether somebody has."""
        if seconds > 0 and not self.asked:
            select.select([self._heard], [], [], seconds)
        return self.asked

    def ask(self, number: int, frame: FrameType | None) -> None:
        """The handler of the signals."""
        self._asked += 1
        if self._asked > 1:
            again = self._former if callable(self._former) else signal.default_int_handler
            again(number, frame)
        elif isinstance(self._former, Interrupts):
            self._former.hurry()
        os.write(self._say, b"x")

    def close(self) -> None:
        """Give the pipe back."""
        os.close(self._heard)
        os.close(self._say)


@contextmanager
def stoppable() -> Iterator[Stop]:
    """SIGINT and SIGTERM ask for the end of the block; a second one raises KeyboardInterrupt, and
    so does the first when the step under way takes much longer.

    In the main thread only. The former handlers are put back.
    """
    stop = Stop(signal.getsignal(signal.SIGINT))
    former = {number: signal.signal(number, stop.ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        stop.close()


class Pace:
    """At most so many things a second, however they come; no bound when `rate` is None."""

    def __init__(self, rate: float | None) -> None:
        self._rate = rate
        self._next = time.monotonic()

    def chunk(self, most: int) -> int:
        """How many to do at once so that a pause is about a second long."""
        return most if self._rate is None else max(1, min(most, int(self._rate)))

    def pause(self, done: int) -> float:
        """Seconds to wait, now that so many were done."""
        if self._rate is None:
            return 0.0
        self._next = max(self._next, time.monotonic() - 1.0) + done / self._rate
        return self._next - time.monotonic()
