"""Which dead letters go back when somebody replays them all."""

from __future__ import annotations

from emq_sql.app import EMQ
from tests.faults.forking import ForkedField


def test_a_replay_of_all_leaves_those_that_failed_for_good_and_reports_them(
    field: ForkedField,
) -> None:
    field.start(poll=0.02)
    hopeless = field.enqueue("hopeless", 3)
    transient = field.enqueue("second_time", 7, _max_attempts=1)
    field.until("select count(*) = 10 from emq.dead")
    letters = EMQ(field.dsn).dead_letters
    count = letters.count()
    assert (count.replay, count.permanent) == (7, 3)
    done = letters.replay_many(everything=True)
    assert (done.replayed, done.permanent, done.busy) == (7, 3, 0)
    field.until_archived(7)
    assert field.rows("select status, attempts, count(*) from emq.archive group by 1, 2") == [
        ("completed", 2, 7)
    ]
    assert {id for (id,) in field.rows("select id from emq.archive")} == set(transient)
    assert field.rows("select count(*), min(reason), max(reason) from emq.dead") == [
        (3, "permanent", "permanent")
    ]
    assert {row["id"] for row in letters.find()} == set(hopeless)
