"""Until when the first run of a job is worth anything, as two headers say it.

`emq-expires-after` counts seconds from the enqueue, on the server's clock; `emq-expires-at` is an
instant (ISO 8601, with its offset from UTC). Of both the later one counts, so that the two together
say "so many seconds after it is due" whatever a producer's clock shows:

    due now         after = expires
    delay           after = delay + expires       the server adds the delay to the enqueue itself
    run_at          after = expires, at = run_at + expires       a run_at that has passed is now
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from emq_sql.errors import BadTime
from emq_sql.rules.durations import LONGEST, aware

AFTER = "emq-expires-after"
AT = "emq-expires-at"

_LONGEST_AFTER = 2 * LONGEST.total_seconds()  # a delay and the time after it


def with_expiry(
    headers: str | None, expires: timedelta | None, delay: timedelta | None, run_at: datetime | None
) -> str | None:
    """The headers (JSON text) with those that say that the job expires. Raises BadTime."""
    if expires is None:
        return headers
    document = {} if headers is None else json.loads(headers)
    document[AFTER] = ((delay or timedelta(0)) + expires).total_seconds()
    if run_at is not None:
        try:
            document[AT] = (run_at + expires).isoformat()
        except OverflowError:
            what = f"run_at is {run_at.isoformat()}, and there is no instant {expires} later."
            raise BadTime(what, hint="Give an earlier run_at, or leave expires out.") from None
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def overdue(
    headers: Mapping[str, Any] | None, enqueued_at: datetime, claimed_at: datetime
) -> timedelta:
    """How long before the claim the job has expired; not above zero when it has not.

    All instants are the server's. Raises BadTime for headers that cannot be read.
    """
    limits = []
    if headers and AFTER in headers:
        limits.append(enqueued_at + _after(headers[AFTER]))
    if headers and AT in headers:
        limits.append(_at(headers[AT]))
    return claimed_at - max(limits) if limits else timedelta(0)


def _after(value: object) -> timedelta:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        seconds = float(value) if abs(value) <= _LONGEST_AFTER else math.nan
        if seconds >= 0:
            return timedelta(seconds=seconds)
    raise BadTime(f"The header {AFTER} is no number of seconds up to {_LONGEST_AFTER:g}.")


def _at(value: object) -> datetime:
    try:
        return aware(datetime.fromisoformat(value), AT)  # type: ignore[arg-type]
    except (TypeError, ValueError):  # BadTime is a ValueError too
        raise BadTime(f"The header {AT} is no instant with an offset from UTC.") from None
