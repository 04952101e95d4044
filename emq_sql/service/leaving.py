"""The end of a worker process, which nobody may hold up who has stopped reading."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

FLUSH = 2.0  # seconds


def flushed() -> bool:
    """Whether all that was logged and printed is out; waits for two seconds at most.

    The handlers of logging may be the application's, and what was printed may wait for a reader.
    """
    return _within(FLUSH, _flush)


def leave(code: int) -> NoReturn:
    """End the process now, although threads still run, or something could not be written."""
    _within(FLUSH, logging.shutdown)
    os._exit(code)


def _within(seconds: float, what: Callable[[], None]) -> bool:
    thread = threading.Thread(target=what, name="emq-flush", daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()


def _flush() -> None:
    # Handlers of jobs may have closed any of them, or put something else in their place.
    for each in (*logging.getLogger().handlers, sys.stdout, sys.stderr):
        with suppress(Exception):
            each.flush()
