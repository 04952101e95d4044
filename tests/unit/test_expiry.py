"""Until when a first run is worth anything: by the server's clock, from when the job was due."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emq_sql.errors import BadTime
from emq_sql.job import Claimed, Lease
from emq_sql.minting import new_id
from emq_sql.rules.expiry import AFTER, AT, overdue, with_expiry
from emq_sql.worker.expiry import unfit

ENQUEUED = datetime(2026, 7, 27, 10, 0, tzinfo=UTC)
LENGTHS = st.timedeltas(timedelta(microseconds=1), timedelta(days=3653))
INSTANTS = st.datetimes(
    datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(timezone(timedelta(hours=-5)))
)


def written(**given: Any) -> dict[str, Any]:
    said = {"headers": None, "expires": None, "delay": None, "run_at": None, **given}
    headers = with_expiry(**said)
    document: dict[str, Any] = json.loads(headers or "{}")
    return document


def claimed(headers: Any, at: datetime, attempts: int = 1) -> Claimed:
    lease = Lease(new_id(), 5, attempts, at + timedelta(seconds=30), timedelta(seconds=30))
    return Claimed(lease, "default", "t", {}, headers, 0, 0, ENQUEUED)


@given(LENGTHS, st.none() | LENGTHS, st.none() | INSTANTS)
def test_a_job_expires_so_long_after_it_is_due_and_not_before(
    expires: timedelta, delay: timedelta | None, run_at: datetime | None
) -> None:
    run_at = None if delay is not None else run_at
    headers = written(expires=expires, delay=delay, run_at=run_at)
    due = max(run_at or ENQUEUED, ENQUEUED) + (delay or timedelta(0))
    microsecond = timedelta(microseconds=1)  # seconds are a float on their way
    assert abs(overdue(headers, ENQUEUED, due + expires)) <= 100 * microsecond
    assert overdue(headers, ENQUEUED, due + expires - timedelta(seconds=1)) < timedelta(0)
    assert overdue(headers, ENQUEUED, due + expires + timedelta(seconds=1)) > timedelta(0)


def test_other_headers_travel_along_and_without_an_expiry_nothing_is_added() -> None:
    assert written(headers='{"trace":"ä"}', expires=timedelta(seconds=2)) == {
        "trace": "ä", AFTER: 2.0,
    }  # fmt: skip
    assert with_expiry('{"trace": 1}', None, timedelta(1), None) == '{"trace": 1}'
    assert with_expiry(None, None, None, None) is None


def test_an_instant_after_all_instants_is_refused() -> None:
    with pytest.raises(BadTime, match="no instant"):
        written(expires=timedelta(days=9), run_at=datetime.max.replace(tzinfo=UTC))


@pytest.mark.parametrize(
    "text", ["2026-07-27T10:00:05Z", "2026-07-27 12:00:05+02", "2026-07-27T10:00:05.000000+00:00"]
)
def test_an_instant_is_read_as_sql_and_json_write_it(text: str) -> None:
    late = overdue({AT: text}, ENQUEUED, ENQUEUED + timedelta(seconds=6))
    assert late == timedelta(seconds=1)


def test_only_the_first_claim_is_judged() -> None:
    later = ENQUEUED + timedelta(seconds=61.5)
    failed = unfit(claimed({AFTER: 60}, later))
    assert failed is not None
    assert failed.reason == "expired"
    assert failed.error == "Expired: its first claim came 1.5 s too late."
    assert unfit(claimed({AFTER: 60}, later, attempts=2)) is None
    assert unfit(claimed({AFTER: 62}, later)) is None
    assert unfit(claimed({"other": 1}, later)) is None
    assert unfit(claimed(None, later)) is None


@pytest.mark.parametrize(
    "headers",
    [{AFTER: value} for value in ("5", None, True, -1, 1e300, float("inf"), [], {})]
    + [
        {AT: value} for value in ("tomorrow", "2026-07-27T10:00:05", 5, None, "0001-01-01T00:00+01")
    ],
)
def test_a_header_that_cannot_be_read_makes_a_dead_letter_that_says_so(headers: Any) -> None:
    failed = unfit(claimed(headers, ENQUEUED))
    assert failed is not None
    assert failed.reason == "permanent"
    assert "emq-expires-" in failed.error
