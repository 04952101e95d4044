"""The register: when extensions are due, when leases lapse, who may send."""

from __future__ import annotations

import threading
from datetime import timedelta
from time import monotonic

from hypothesis import given
from hypothesis import strategies as st

from emq_sql.worker.entry import Entry, own_transaction
from emq_sql.worker.handler import Handler
from emq_sql.worker.held import Held, Waiter
from tests.plugins.databases import Database
from tests.worker.making import entry

HANDLER = Handler("t", print)


def held(*entries: Entry) -> Held:
    register = Held()
    register.add(entries)
    return register


@given(lease=st.floats(0.2, 86400), late=st.floats(0, 1e6))
def test_an_extension_is_due_at_a_third_and_a_lapse_at_the_whole_of_the_lease(
    lease: float, late: float
) -> None:
    job = entry(HANDLER, lease=timedelta(seconds=lease), sent=1000.0)
    register = held(job)
    before = 1000 + lease / 3 - 0.001
    assert register.take_due(before)[0] == []
    assert register.take_due(1000 + lease / 3 + 0.001)[0] == [job]
    assert register.take_expired(1000 + lease - 0.001)[0] == []
    assert register.keeping
    assert register.take_expired(1000 + lease + 0.001 + late)[0] == [job]
    assert not register.keeping
    assert register.take_expired(1000 + lease + 0.001 + late)[0] == []  # said once


def test_jobs_are_extended_each_by_its_own_lease() -> None:
    short = entry(HANDLER, lease=timedelta(seconds=3), sent=100.0)
    long = entry(HANDLER, lease=timedelta(seconds=300), sent=100.0)
    register = held(short, long)
    usual, wished, own, soonest = register.take_due(101.5)
    assert (usual, wished, own) == ([short], [], [])
    assert soonest == 200.0
    register.extended(usual, ["done"], 101.5)
    register.put_down(usual, "keeper")
    assert register.take_due(102.0)[3] == 102.5


def test_a_busy_row_is_asked_for_again_and_the_others_are_extended() -> None:
    busy, free = (entry(HANDLER, lease=timedelta(seconds=3), sent=0.0) for _ in range(2))
    register = held(busy, free)
    usual = register.take_due(1.5)[0]
    register.extended(usual, ["busy" if e is busy else "done" for e in usual], 1.5)
    assert (busy.extended_at, free.extended_at) == (0.0, 1.5)
    assert busy.extension_due() > 1.5
    assert not busy.cancelled.is_set()


def test_a_lost_row_is_never_asked_for_again() -> None:
    job = entry(HANDLER, lease=timedelta(seconds=3), sent=0.0)
    register = held(job)
    register.extended(register.take_due(1.5)[0], ["lost"], 1.5)
    assert job.lost
    assert register.take_due(1e9) == ([], [], [], None)


def test_only_the_first_who_decides_settles_it() -> None:
    register = Held()
    job = entry(HANDLER)
    register.add([job])
    wins = []
    threads = [
        threading.Thread(target=lambda: wins.append(register.decide(job))) for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wins.count(True) == 1
    assert not register.starts(job)


def test_nobody_sends_about_a_row_that_is_in_other_hands() -> None:
    job = entry(HANDLER, sent=monotonic() - 11)
    register = held(job)
    assert register.take(job, "settler")
    assert register.take_due(monotonic())[0] == []
    register.put_down([job], "keeper")  # not the keeper's to put down
    assert register.take_due(monotonic())[0] == []
    register.put_down([job], "settler")
    assert register.take_due(monotonic())[0] == [job]
    assert not register.take(job, "settler")


def test_hands_that_hang_stop_nobody() -> None:
    job = entry(HANDLER)
    register = held(job)
    assert register.take(job, "keeper")
    job.hands_since -= 60
    assert register.take(job, "settler")


def test_a_claim_wakes_a_keeper_that_would_sleep_too_long() -> None:
    register = Held()
    woken = threading.Event()

    def sleep(who: Waiter) -> None:
        register.wait(who, register.version(), 3600)
        woken.set()

    for who in ("keeper", "watch"):
        threading.Thread(target=sleep, args=(who,), daemon=True).start()
        while register._alarms[who] == float("inf"):
            pass
    version = register.version()
    register.add([entry(HANDLER, lease=timedelta(days=1))])
    assert register.version() == version
    register.add([entry(HANDLER)])
    assert woken.wait(20)


def test_the_deadline_that_is_known_is_never_later_than_the_servers() -> None:
    job = entry(HANDLER, sent=100.0)
    first = job.lease_deadline
    job.known_at = 100.2  # the answer took 0.2 s: the server's lease may have begun that late
    job.extended(110.0, timedelta(seconds=30))
    assert job.lease_deadline == first + timedelta(seconds=9.8)
    job.extended(111.0, timedelta(seconds=1))
    assert job.lease_deadline == first + timedelta(seconds=9.8)


def test_nothing_is_asked_about_a_job_while_its_completing_transaction_is_open(
    db: Database,
) -> None:
    job = entry(HANDLER, sent=monotonic() - 11)
    register = held(job)
    with db.connect(autocommit=False) as connection:
        connection.execute("select 1")
        register.completed(job, own_transaction(connection))
        now = monotonic()
        assert register.take_due(now)[2] == [job]
        assert register.may_wait(job, now)
        register.rolled_back(job)
        assert register.take_due(now + 1)[2] == [job]
        assert not register.may_wait(job, now + 15)  # its lease is in need by then
        connection.rollback()
        assert not register.may_wait(job, now)
        register.rolled_back(job)
        assert register.take_due(now + 1)[:3] == ([job], [], [])


def test_a_wish_is_not_answered_by_an_extension_that_was_under_way_before_it() -> None:
    job = entry(HANDLER, lease=timedelta(seconds=3), sent=100.0)
    register = held(job)
    usual = register.take_due(101.5)[0]
    ask = register.wish(job, timedelta(hours=1))
    register.extended(usual, ["done"], 101.5)
    register.put_down(usual, "keeper")
    assert not ask.answer.done()
    assert register.deadline(job) == 104.5
    wished = register.take_due(101.6)[1]
    register.extended(wished, ["done"], 101.6, ask)
    assert ask.answer.result() == "done"
    assert register.deadline(job) == 3701.6


def test_a_row_in_hands_that_hang_is_asked_about_before_it_is_extended() -> None:
    job = entry(HANDLER, lease=timedelta(seconds=3), sent=100.0)
    register = held(job)
    assert register.take(job, "settler")
    frozen = job.hands_since + 60
    assert register.take_due(frozen)[:3] == ([], [], [job])


def test_a_run_that_has_ended_is_not_told_that_its_lease_lapsed_and_claiming_stops() -> None:
    ended, completing = (entry(None, sent=1000, lease=timedelta(seconds=9)) for _ in range(2))
    register = held(ended, completing)
    assert register.decide(ended)
    register.completed(completing, lambda: False)
    assert register.take_expired(1010)[0] == []
    assert not register.keeping
    register.rolled_back(completing)
    assert register.take_expired(1010)[0] == [completing]
