"""Claimed jobs without a database, for the parts of a worker that need none."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any

from emq_sql.job import Claimed, Lease
from emq_sql.minting import new_id
from emq_sql.worker.entry import Entry
from emq_sql.worker.handler import Handler

LEASE = timedelta(seconds=30)


def claimed(
    task: str = "t", payload: Mapping[str, Any] | None = None, lease: timedelta = LEASE,
    queue: str = "default",
) -> Claimed:  # fmt: skip
    """A job at its first attempt, claimed just now."""
    now = datetime.now(UTC)
    held = Lease(new_id(), (1 << 40) | 5, 1, now + lease, lease)
    return Claimed(held, queue, task, payload or {}, None, 0, 0, now)


def entry(handler: Handler | None, payload: Mapping[str, Any] | None = None, **given: Any) -> Entry:
    """The same as its worker keeps it."""
    now = given.pop("sent", monotonic())
    return Entry(claimed("t", payload, **given), handler, now, now)
