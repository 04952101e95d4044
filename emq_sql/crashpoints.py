"""Named places where a test can end this process as `kill -9` would.

`EMQ_SQL_CRASH_AT=after-claim:3` kills the process with SIGKILL the third time that it passes
`after-claim`. Without the variable a point costs one comparison. Points are for tests only.
"""

from __future__ import annotations

import os
import signal
import threading

POINTS = (
    "before-claim",
    "after-claim",
    "mid-handler",
    "after-effect",
    "before-complete",
    "after-complete",
    "during-extend",
    "before-release",
)
# Those of an exporter.
EXPORT_POINTS = (
    "part-written",
    "part-recorded",
    "manifest-written",
    "export-recorded",
    "retire-step",
    "day-dropped",
)

_lock = threading.Lock()
_name, _left = "", 1


def crash_at(given: str) -> None:
    """Ask for it from here on, as EMQ_SQL_CRASH_AT does from the start: for a process that was
    forked from one that is to live.
    """
    global _name, _left  # noqa: PLW0603  one point for the process is the point
    _name, _, count = given.partition(":")
    _left = int(count or 1)


crash_at(os.environ.get("EMQ_SQL_CRASH_AT", ""))


def crash_point(name: str) -> None:
    """End the process by SIGKILL if the environment asks for it here, now."""
    global _left  # noqa: PLW0603  one counter for the process is the point
    if name != _name:
        return
    with _lock:
        _left -= 1
        if _left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
