"""enqueue_many: one answer for each id, in the order given."""

from __future__ import annotations

from emq_sql.minting import new_id
from tests.protocol.calls import Ledger, refused
from tests.protocol.gap import Call


def test_each_job_has_its_answer_in_the_order_given(ledger: Ledger) -> None:
    known = ledger.add_one()
    a, b, d = new_id(), new_id(), new_id()
    later = ledger.one("select clock_timestamp() + interval '1 h'")
    answers = ledger.add_many([d, b, known, d, a], run_ats=[None, later, None, None, None])
    assert answers == ["enqueued", "scheduled", "duplicate", "duplicate", "enqueued"]
    assert [held.id for held in ledger.claim(10)] == [known, d, a]
    assert ledger.place(b) == "scheduled"


def test_an_id_twice_in_a_call_is_a_duplicate_the_second_time(ledger: Ledger) -> None:
    id = new_id()
    assert ledger.add_many([id, id]) == ["enqueued", "duplicate"]
    assert [held.id for held in ledger.claim(5)] == [id]


def test_the_line_keeps_the_callers_order_and_not_that_of_the_ids(ledger: Ledger) -> None:
    ids = [new_id() for _ in range(6)]
    order = [ids[k] for k in (3, 0, 5, 1, 4, 2)]
    assert ledger.add_many(order) == ["enqueued"] * 6
    assert [held.id for held in ledger.claim(6)] == order


def test_no_jobs_have_no_answers(ledger: Ledger) -> None:
    assert ledger.add_many([]) == []


def test_arrays_of_different_lengths_are_refused(ledger: Ledger) -> None:
    with refused("EQ006", hint="one element for each id"):
        ledger.rows(
            "select emq.enqueue_many('default', %s::uuid[], array['t', 't'], array['{}']::jsonb[])",
            [new_id()],
        )


def test_what_one_job_can_say_each_job_of_a_batch_can(ledger: Ledger) -> None:
    plain, rich = new_id(), new_id()
    answers = ledger.add_many(
        [plain, rich], priorities=[None, 0], max_attempts=[None, 3], leases=[None, "9 s"],
        headers=[None, '{"k": 1}'],
    )  # fmt: skip
    assert answers == ["enqueued", "enqueued"]
    first, second = ledger.claim(2)
    assert (first.id, first.lease_ms, first.headers) == (rich, 9000, {"k": 1})
    assert (second.id, second.lease_ms, second.headers) == (plain, 30000, None)
    assert ledger.one("select max_attempts from emq.job where id = %s", rich) == 3


def test_a_job_that_waits_keeps_its_priority_and_its_lease(ledger: Ledger) -> None:
    usual, urgent = new_id(), new_id()
    answers = ledger.add_many(
        [usual, urgent], priorities=[None, 0], delays=["0 s", "1 ms"], leases=[None, "9 s"]
    )
    assert answers == ["enqueued", "scheduled"]
    ledger.until(lambda: ledger.promote() == 1, "the delay is over")
    assert [(held.id, held.lease_ms) for held in ledger.claim(2)] == [
        (urgent, 9000),
        (usual, 30000),
    ]


def test_a_call_that_waits_for_an_id_holds_no_higher_one_meanwhile(
    ledger: Ledger, other: Ledger, third: Ledger
) -> None:
    """Ids are taken in their order, so that two calls with the same ids cannot deadlock."""
    low, high = new_id(), new_id()
    other.add_one(id=low)
    third.run("set lock_timeout = '30s'")
    pid = third.one("select pg_backend_pid()")
    waiting = Call(lambda: third.add_many([high, low]))
    ledger.wait("exists (select from pg_locks where pid = %s and not granted)", pid)
    assert ledger.status(high) == "enqueued"
    other.conn.commit()
    assert waiting.result() == ["duplicate", "duplicate"]


def test_a_refused_id_refuses_the_whole_call(ledger: Ledger) -> None:
    with refused("EQ002"):
        ledger.add_many([new_id(), None, new_id()])
    assert ledger.one("select count(*) from emq.job") == 0
