"""Jobs that came too late to be begun."""

from __future__ import annotations

from emq_sql.errors import BadTime
from emq_sql.job import Claimed
from emq_sql.rules.expiry import overdue
from emq_sql.rules.verdict import Failed, gave_up


def unfit(claimed: Claimed) -> Failed | None:
    """Why a job must not be run although it was claimed, by the server's clock; None if it may.

    Only the first claim is judged: a job that was begun in time is tried again like any other, and
    one that an operator replays is run.
    """
    lease = claimed.lease
    if claimed.headers is None or lease.attempts != 1:
        return None
    try:
        late = overdue(claimed.headers, claimed.enqueued_at, lease.lease_deadline - lease.lease)
    except BadTime as error:
        return gave_up(f"{error.what} The job was not run.", "permanent")
    seconds = late.total_seconds()
    if seconds <= 0:
        return None
    return gave_up(f"Expired: its first claim came {seconds:.1f} s too late.", "expired")
