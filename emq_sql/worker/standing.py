"""Whether a run may still do something for its job."""

from __future__ import annotations

from uuid import UUID

from emq_sql.errors import JobFinished, LeaseLost
from emq_sql.worker.grip import Grip


def must_be_open(grip: Grip) -> None:
    """Raise JobFinished when the run is over, LeaseLost when its lease is known to be lost."""
    standing = grip.standing
    if standing == "over":
        raise finished(grip.claimed.lease.id)
    if standing == "lost":
        raise lost(grip.claimed.lease.id)


def must_not_be_over(grip: Grip) -> None:
    """Raise JobFinished when the run is over; of a lost lease the database knows best."""
    if grip.standing == "over":
        raise finished(grip.claimed.lease.id)


def lost(id: UUID) -> LeaseLost:
    """Another worker may hold it by now."""
    return LeaseLost(f"The lease of job {id} is lost.", hint="Undo what you can and return.")


def finished(id: UUID) -> JobFinished:
    """Nothing is left to be done for it."""
    return JobFinished(
        f"This run of job {id} is settled (completed, put back, timed out or released).",
        hint="Nothing more can be done for it: roll back and return.",
    )
