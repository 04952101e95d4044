"""A handler in a child process keeps its lease, whatever it does with its interpreter."""

from __future__ import annotations

from tests.worker.processes.conftest import SHORT_LEASE, Family


def test_awaiting_blocking_and_gil_holding_handlers_keep_their_leases(household: Family) -> None:
    jobs = [
        job
        for task in ("awaits", "c_sleep", "holds_the_gil")
        for job in household.enqueue(task, seconds=4 * SHORT_LEASE)
    ]
    kept = "select count(*) = 3 from emq.active where extensions >= 4 and id = any(%s)"
    household.until(kept, jobs)
    assert household.completed(*jobs) == [(1, 0, 0)] * 3
    for job in jobs:
        assert household.attempts(job) == []
        assert household.refused(job) == 0


def test_a_handler_that_holds_the_gil_costs_its_slot_and_no_other(household: Family) -> None:
    (stuck,) = household.enqueue("stuck")
    household.until_begun(stuck)
    quick = household.enqueue("echo", 20, text="quick")
    assert set(household.completed(*quick)) == {(1, 0, 0)}
    assert household.one("select count(*) from emq.active where id = %s", stuck) == 1
    household.reader.execute("select emq.cancel(%s)", [stuck])


def test_a_handler_whose_lease_lapses_is_told(family: Family) -> None:
    (job,) = family.enqueue("heeds")
    family.start(lease=0.5)
    family.until_begun(job)
    signature = "emq.keep(uuid[], bigint[], text[], interval)"
    family.reader.execute(f"alter function {signature} set schema public")
    family.until("select count(*) >= 1 from effect")
    assert family.effects(job) == ["lease lost"]
    family.reader.execute(f"alter function public.{signature[4:]} set schema emq")
    family.until("select emq.cancel(%s) is not null and count(*) = 0 from emq.active", job)
    # Had the worker given up by now, that would have told the handler too.
    assert family.completed(*family.enqueue("echo", text="it goes on")) == [(1, 0, 0)]
