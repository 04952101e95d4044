"""What signals mean to a worker process."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from emq_sql.worker.overdue import Overdue
from emq_sql.worker.worker import Worker

LAST_PATIENCE = 15.0  # seconds after the grace in which everything must have ended

STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@contextmanager
def obeyed(worker: Worker, grace: float) -> Iterator[None]:
    """SIGTERM, SIGINT and SIGHUP drain the worker, a second one of them releases at once.

    SIGHUP is left alone where it is ignored: `nohup` asked for that. The former handlers are put
    back. Outside of the main thread nothing is done, since signals do not come there.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    overdue = Overdue()
    seen = 0

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal seen
        seen += 1
        if seen == 1:
            worker.drain()
            overdue.expect(grace + LAST_PATIENCE)
        else:
            worker.release_now()
            overdue.expect(LAST_PATIENCE)

    former = {number: signal.signal(number, stop) for number in STOPS if wanted(number)}
    overdue.start()
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        overdue.stop()


def wanted(number: signal.Signals) -> bool:
    """Whether this process should obey it."""
    return number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN
