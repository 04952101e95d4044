"""retire: a closed day goes step by step; no live job and no row that was not visited goes too."""

from __future__ import annotations

from datetime import date, timedelta
from typing import cast

import pytest

from tests.protocol.calls import Held, Ledger, refused


@pytest.fixture
def day(ledger: Ledger) -> date:
    """A day that is over by long, with its partition."""
    found = cast(date, ledger.one("select (now() at time zone 'utc')::date - 10"))
    ledger.rows("select emq.archive_days(0, %s)", found)
    return found


def finished(ledger: Ledger, n: int, day: date, hour: int = 5) -> list[Held]:
    """n completed jobs of that day, in id order; they are dated back, because a clock cannot be."""
    ledger.add(n, "old")
    held = sorted(ledger.claim(n, "old"), key=lambda one: one.id)
    ledger.complete(*held)
    date_back(ledger, held, day, hour)
    return held


def date_back(ledger: Ledger, held: list[Held], day: date, hour: int = 5) -> None:
    ids = [one.id for one in held]
    ledger.run("update emq.job set enqueued_at = %s where id = any(%s)", day, ids)
    ledger.run(
        "update emq.archive set finished_at = %s + %s * interval '1 h' where id = any(%s)",
        day, hour, ids,
    )  # fmt: skip


def envelopes(ledger: Ledger, held: list[Held]) -> int:
    n: int = ledger.one("select count(*) from emq.job where id = any(%s)", [one.id for one in held])
    return n


def partition(ledger: Ledger, day: date) -> bool:
    name = f"emq.archive_{day:%Y%m%d}"
    return bool(ledger.one("select to_regclass(%s) is not null", name))


def test_a_day_that_is_not_over_is_open_and_one_without_partition_is_none(
    ledger: Ledger, day: date
) -> None:
    assert ledger.retire(day + timedelta(10)) == ("open", None)
    assert ledger.retire(day - timedelta(1000)) == ("none", 0)


def test_a_day_is_retired_in_steps_and_dropped(ledger: Ledger, day: date) -> None:
    held = finished(ledger, 25, day)
    assert [ledger.retire(day) for _ in range(3)] == [("more", 15), ("more", 5), ("dropped", 0)]
    assert envelopes(ledger, held) == 0
    assert not partition(ledger, day)
    assert ledger.retire(day) == ("none", 0)
    assert ledger.one("select count(*) from emq.retiring") == 0
    assert ledger.outcome(held[0]) == "unknown"


def test_an_id_whose_envelope_is_gone_may_live_again_and_is_left_alone(
    ledger: Ledger, day: date
) -> None:
    held = finished(ledger, 25, day)
    ledger.retire(day)
    assert ledger.status(held[0].id, "old") == "enqueued"
    assert ledger.status(held[12].id, "old") == "duplicate"
    assert ledger.retire(day) == ("more", 5)
    assert envelopes(ledger, held[:1]) == 1
    assert ledger.retire(day) == ("dropped", 0)
    again = ledger.take("old")
    assert again.id == held[0].id
    assert ledger.complete(held[0]) == ["lost"] or again.fence == held[0].fence
    assert ledger.complete(again) == ["done"]


def test_other_days_are_not_touched(ledger: Ledger, day: date) -> None:
    fresh = ledger.start()
    ledger.complete(fresh)
    finished(ledger, 3, day)
    assert ledger.retire(day) == ("dropped", 0)
    assert ledger.outcome(fresh) == "completed"
    assert ledger.status(fresh.id) == "duplicate"


def test_two_at_once_are_busy(ledger: Ledger, other: Ledger, day: date) -> None:
    finished(ledger, 25, day)
    other.retire(day)
    assert ledger.retire(day) == ("busy", None)
    other.conn.rollback()
    assert ledger.retire(day) == ("more", 15)


def test_an_open_completion_makes_the_drop_busy_and_keeps_the_step(
    ledger: Ledger, other: Ledger, day: date
) -> None:
    held = finished(ledger, 5, day)
    running = ledger.start()
    assert other.complete(running) == ["done"]
    assert ledger.retire(day, 50) == ("busy", 0)
    assert envelopes(ledger, held) == 0
    other.conn.commit()
    assert ledger.retire(day, 50) == ("dropped", 0)


def test_an_open_writer_of_that_day_makes_the_first_step_busy(
    ledger: Ledger, other: Ledger, day: date
) -> None:
    held = finished(ledger, 3, day)
    late = ledger.start()
    ledger.complete(late)
    other.run("update emq.archive set finished_at = %s where id = %s", day, late.id)
    assert ledger.retire(day) == ("busy", None)
    assert envelopes(ledger, held) == 3
    other.conn.rollback()


def test_a_job_that_finished_before_it_was_enqueued_leaves_no_envelope(
    ledger: Ledger, day: date
) -> None:
    held = finished(ledger, 3, day)
    ledger.run("update emq.job set enqueued_at = enqueued_at + interval '5 h 50 min'")
    assert ledger.retire(day) == ("dropped", 0)
    assert envelopes(ledger, held) == 0


def test_a_row_that_comes_late_is_visited_before_the_drop(ledger: Ledger, day: date) -> None:
    """And an envelope that was enqueued again is not deleted by the second visit."""
    late = ledger.start("old")  # its id is below those that the first step visits
    held = finished(ledger, 5, day)
    assert ledger.retire(day, 3) == ("more", 2)
    assert ledger.status(held[1].id, "again") == "enqueued"
    ledger.complete(late)
    date_back(ledger, [late], day, hour=6)
    assert ledger.retire(day, 3) == ("more", 6)
    answers = [ledger.retire(day, 4)[0] for _ in range(2)]
    assert answers == ["more", "dropped"]
    assert envelopes(ledger, [*held, late]) == 1
    assert ledger.take("again").id == held[1].id


def test_a_cancelled_job_is_retired_like_any_other(ledger: Ledger, day: date) -> None:
    held = ledger.start()
    ledger.operate("cancel", held.id)
    date_back(ledger, [held], day)
    assert ledger.retire(day) == ("dropped", 0)
    assert ledger.status(held.id) == "enqueued"


def test_a_day_without_jobs_is_dropped_at_once(ledger: Ledger, day: date) -> None:
    assert ledger.retire(day) == ("dropped", 0)


def test_retire_speaks_of_read_committed_only(ledger: Ledger, other: Ledger, day: date) -> None:
    other.run("set transaction isolation level serializable")
    with refused("25001"):
        other.retire(day)
