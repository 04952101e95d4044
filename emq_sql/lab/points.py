"""The places in the lab's handlers where their process is killed or frozen."""

from __future__ import annotations

import os
import signal
import threading

# Names for EMQ_SQL_CRASH_AT. The last one is in the worker itself, behind each completion.
BEFORE_WORK = "lab-before-work"
MID_WORK = "lab-mid-work"
AFTER_EFFECT = "lab-after-effect"
AFTER_EARLY = "lab-after-early-complete"
AFTER_COMPLETE = "after-complete"

FREEZES = "EMQ_LAB_FREEZE"


def freeze_if_asked() -> None:
    """Stop the whole process by SIGSTOP, until somebody sends it SIGCONT.

    Sent to this very thread: sent to the process, another thread might take it, and this one go on
    for a moment.
    """
    if os.environ.get(FREEZES):
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
