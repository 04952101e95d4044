"""Commands that work in steps: a first Ctrl-C ends them after the step they are at."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Stop:
    """Whether somebody has asked for the end."""

    def __init__(self) -> None:
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

    def ask(self, number: int, _frame: FrameType | None) -> None:
        """The handler of the signals."""
        self._asked += 1
        if self._asked > 1:
            signal.default_int_handler(number, _frame)
        os.write(self._say, b"x")

    def close(self) -> None:
        """Give the pipe back."""
        os.close(self._heard)
        os.close(self._say)


@contextmanager
def stoppable() -> Iterator[Stop]:
    """SIGINT and SIGTERM ask for the end of the block; a second one raises KeyboardInterrupt.

    In the main thread only. The former handlers are put back.
    """
    stop = Stop()
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
