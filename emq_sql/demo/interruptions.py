"""What ends a run early: a deadline, Ctrl-C, or the signals that ask a process to end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """The run is over before its end.

    A KeyboardInterrupt, because drivers cancel a running statement for it, and nobody takes it for
    an error to go on after.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number

    @property
    def late(self) -> bool:
        """True when the deadline has passed, False when somebody asked for the end."""
        return self.number == signal.SIGALRM


@contextmanager
def interruptible(seconds: float) -> Iterator[None]:
    """Raise Interrupted in the block after so many seconds, and at SIGINT, SIGTERM or SIGHUP.

    A call that blocks is interrupted too. The first one counts: whoever cleans up then is left
    alone by the deadline, not by a second Ctrl-C. In the main thread only.
    """

    def interrupt(number: int, _frame: FrameType | None) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise Interrupted(number)

    numbers = (signal.SIGALRM, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, interrupt) for number in numbers}
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
