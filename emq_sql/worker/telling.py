"""Telling a handler to stop, which the log says once."""

from __future__ import annotations

import logging

from emq_sql.worker.cancellation import CancelReason
from emq_sql.worker.entry import Entry
from emq_sql.worker.records import about

log = logging.getLogger("emq_sql.worker")

_LEVELS = {"lease lost": logging.WARNING, "timed out": logging.WARNING}


def tell(entry: Entry, reason: CancelReason, detail: str = "") -> None:
    """Its handler should stop. That is no error: the worker goes on with its other jobs."""
    if entry.cancelled.tell(reason):
        said = f"{reason} ({detail})" if detail else reason
        level = _LEVELS.get(reason, logging.INFO)
        extra = about(entry.claimed)
        log.log(level, "%s: %s, its handler is told to stop", entry, said, extra=extra)
