"""maintain: one pass of upkeep, by anybody, at any time."""

from __future__ import annotations

from tests.protocol.calls import Ledger

NEWEST = "from emq.settled order by n desc limit 1"


def test_a_pass_promotes_and_reaps(ledger: Ledger) -> None:
    held = ledger.abandoned()
    later = ledger.add_one(delay="50 ms")
    ledger.wait("not exists (select from emq.scheduled where run_at > clock_timestamp())")
    assert ledger.row("select * from emq.maintain()") == (True, 1, 1, 0)
    assert ledger.place(held.id) == ledger.place(later) == "pending"


def test_a_second_pass_at_the_same_time_does_nothing_and_does_not_wait(
    ledger: Ledger, other: Ledger
) -> None:
    assert other.maintain()
    assert not ledger.maintain()
    other.conn.commit()
    assert ledger.maintain()


def test_passes_leave_one_row_in_the_register(ledger: Ledger) -> None:
    for _ in range(5):
        ledger.maintain()
    assert ledger.one("select count(*) from emq.settled") == 1


def test_a_worker_not_seen_for_a_day_is_forgotten(ledger: Ledger) -> None:
    ledger.rows("select emq.worker_seen('old', '{}', 1, '0'), emq.worker_seen('new', '{}', 1, '0')")
    ledger.run("update emq.worker set seen_at = now() - interval '25 h' where name = 'old'")
    ledger.maintain()
    assert ledger.column("select name from emq.worker") == ["new"]


def test_the_floors_of_reap_and_promote_rise(ledger: Ledger) -> None:
    def risen() -> bool:
        ledger.maintain()
        return bool(ledger.one(f"select least(reap_from, promote_from) > '-infinity' {NEWEST}"))

    ledger.complete(ledger.start())
    ledger.until(risen, "both floors rise")


def test_a_mark_does_not_count_while_somebody_who_wrote_before_it_is_open(
    ledger: Ledger, other: Ledger
) -> None:
    other.add()
    marks = set()
    for _ in range(6):
        ledger.complete(ledger.start())
        ledger.maintain()
        marks.add(ledger.one(f"select w {NEWEST}"))
    assert len(marks) == 1
    other.conn.commit()
    ledger.maintain()
    assert ledger.one(f"select w {NEWEST}") not in marks


def test_a_clock_that_was_set_back_makes_the_floors_start_afresh(ledger: Ledger) -> None:
    """The clock of the server cannot be moved here, so the mark is: into the future."""
    ledger.run(
        "insert into emq.settled (w, t, reap_from, promote_from, cand_w, cand_t)"
        " select 0, f, f, f, 0, f from (select now() + interval '1 h' as f) x"
    )
    held = ledger.abandoned(nonce=5)
    assert [one.id for one in ledger.claimed(5)] == [held.id]
    later = ledger.add_one(delay="50 ms")
    ledger.wait("not exists (select from emq.scheduled where run_at > clock_timestamp())")
    assert ledger.reap() == (1, 0, 0)
    assert ledger.promote() == 1
    assert ledger.place(later) == "pending"
    ledger.maintain()
    assert ledger.one(f"select reap_from = '-infinity' and promote_from = '-infinity' {NEWEST}")


def test_what_lies_below_a_floor_is_found_again_within_ten_minutes(ledger: Ledger) -> None:
    """As after a clock that went back and caught up unnoticed: the floors are above what is there.

    The clock of the server cannot be moved here, so the floors are, and the last pass backwards.
    """
    held = ledger.abandoned()
    later = ledger.add_one(delay="50 ms")
    ledger.wait("not exists (select from emq.scheduled where run_at > clock_timestamp())")
    ledger.run(
        "insert into emq.settled (w, t, reap_from, promote_from, cand_w, cand_t)"
        " select 0, f, f, f, 0, f - interval '10 min' from (select clock_timestamp() as f) x"
    )
    ledger.maintain()
    ledger.maintain()
    assert ledger.place(held.id) == ledger.place(later) == "pending"
