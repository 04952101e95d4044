"""story: everything that happened to a job, for as long as anything of it is kept."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from tests.protocol.calls import Ledger
from tests.protocol.history import days_ago, finished, queue_keeps, tidied


def events(ledger: Ledger, id: UUID) -> list[str]:
    return ledger.column("select event from emq.story(%s)", id)


def details(ledger: Ledger, id: UUID) -> dict[str, Any]:
    return dict(ledger.rows("select event, detail from emq.story(%s)", id))


def test_a_late_extension_is_told_with_the_deadline_that_had_passed(ledger: Ledger) -> None:
    held = ledger.abandoned()
    assert ledger.extend(held) == ["done"]
    ledger.complete(held)
    told = ledger.rows("select event, attempts from emq.story(%s)", held.id)
    assert told[1:4] == [("claimed", 1), ("extended late", 1), ("completed", 1)]
    assert f"{held.lease_deadline:%M:%S}" in details(ledger, held.id)["extended late"]


def test_a_refused_call_is_told_with_whose_it_was_how_late_and_how_long_beside_the_next(
    ledger: Ledger,
) -> None:
    held = ledger.abandoned(worker="slow")
    ledger.reap()
    assert ledger.complete(held) == ["lost"]
    ledger.take(worker="quick")
    assert ledger.complete(held) == ["lost"]
    told = ledger.rows(
        "select attempts, worker, detail from emq.story(%s) where event = 'refused'", held.id
    )
    (late, none), (later, beside) = ledger.rows(
        "select late::text, overlap::text from emq.refusal order by at"
    )
    assert none is None
    alone = f"complete under a stale fence; the job was held by nobody; late by {late}"
    both = (
        f"complete under a stale fence; the job was held at attempt 2; late by {later}; beside the"
        f" next attempt for {beside}"
    )
    assert told == [(1, "slow", alone), (1, "slow", both)]


def test_what_operators_did_is_told_with_who_and_why(ledger: Ledger) -> None:
    id = ledger.add_one(max_attempts=1)
    ledger.retry(ledger.take(), error="boom")
    ledger.operate("replay", id, "after the fix")
    ledger.retry(ledger.take(), error="boom again")
    ledger.operate("discard", id, "hopeless")
    assert events(ledger, id) == [
        "enqueued", "claimed", "failed", "replay", "claimed", "failed", "discarded", "archived",
        "discard",
    ]  # fmt: skip
    told = details(ledger, id)
    who = ledger.one("select session_user")
    assert told["replay"] == f"by {who}: after the fix: exception"
    assert told["discard"] == f"by {who}: hopeless: exception: boom again"
    today = ledger.one("select to_char(now() at time zone 'utc', 'YYYYMMDD')")
    assert told["archived"] == f"archive_{today}"


def test_of_a_job_whose_envelope_has_gone_what_is_left_is_told(ledger: Ledger) -> None:
    (id,) = finished(ledger, 1, days_ago(ledger, 5), "q", how="discarded")
    queue_keeps(ledger, "q", cancelled_retention="1 d")
    tidied(ledger)
    assert ledger.rows("select * from emq.place(%s)", id) == []
    assert events(ledger, id) == ["claimed", "failed", "discard"]


EXPORTED = """
with e as (
  insert into emq.exported
    (day, version, parts, rows, bytes, checksum, location, schema_version, verified_at)
  values (%(day)s, 1, 2, 4, 1, repeat('0', 64), 's3://bucket/jobs/', 4, clock_timestamp())
)
insert into emq.export_part
  (day, version, part, rows, bytes, min_id, max_id, max_at, checksum, location, path)
select %(day)s, 1, n, 2, 1, (%(ids)s::uuid[])[2 * n + 1], (%(ids)s::uuid[])[2 * n + 2],
       clock_timestamp(), repeat('0', 64), 's3://bucket/jobs/', 'part-' || n
  from generate_series(0, 1) n
"""


def test_the_file_that_has_a_job_is_told_and_those_that_may_have_it(ledger: Ledger) -> None:
    """The records are those that an export leaves; exporting itself has tests of its own."""
    day = days_ago(ledger, 5)
    ids = finished(ledger, 4, day, "q")
    ledger.conn.execute(EXPORTED.encode(), {"day": day, "ids": ids})
    assert details(ledger, ids[2])["exported"] == "s3://bucket/jobs/part-1"
    assert "exported" not in details(ledger, ledger.start().id)
    queue_keeps(ledger, "q", retention="1 d")
    ledger.run("select pg_advisory_unlock_all()")
    tidied(ledger)
    assert details(ledger, ids[0]) == {"exported": "may be in s3://bucket/jobs/part-0"}


def test_a_place_and_a_story_lock_only_the_days_since_the_job(
    ledger: Ledger, other: Ledger
) -> None:
    for n in range(4, 34):
        days_ago(ledger, n)
    ledger.complete(held := ledger.start())
    for _ in range(7):  # long enough for a cached plan to be taken
        other.rows("select * from emq.place(%s)", held.id)
        other.rows("select * from emq.story(%s)", held.id)
        locked = other.column(
            "select relation::regclass::text from pg_locks where pid = pg_backend_pid()"
            " and relation::regclass::text ~ '\\d{8}$'"
        )
        oldest = days_ago(ledger, 1)
        assert all(name[-8:] >= f"{oldest:%Y%m%d}" for name in locked), locked
        other.conn.rollback()
