"""guard_commit: who settled the job passes, and nobody after; a frozen holder is bounded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pytest

from tests.plugins.databases import Database
from tests.plugins.running import PgServer
from tests.protocol.calls import Held, Ledger, refused

Settle = Callable[[Ledger, Held], object]

# How it is done, how it is called, and what is raised of a later transaction.
SETTLE: dict[str, tuple[Settle, str, str]] = {
    "complete": (lambda ledger, held: ledger.complete(held), "(completed)", "EQ007"),
    "retry": (lambda ledger, held: ledger.retry(held, delay="1 h"), "(failed)", "EQ007"),
    "snooze": (lambda ledger, held: ledger.snooze(held, delay="1 h"), "(snoozed)", "EQ007"),
    "release": (lambda ledger, held: ledger.release(held), "is lost", "EQ001"),
}


def guard_commit(ledger: Ledger, held: Held) -> str:
    return cast(str, ledger.one("select emq.guard_commit(%s, %s)", held.id, held.fence))


@pytest.fixture
def effects(ledger: Ledger) -> None:
    ledger.run("create table effect (n int)")


@pytest.mark.usefixtures("effects")
def test_a_transaction_that_wrote_nothing_passes_without_a_lock_or_an_xid(
    ledger: Ledger, other: Ledger
) -> None:
    held = ledger.start()
    other.rows("select * from effect")
    assert guard_commit(other, held) == "nothing"
    assert other.one("select pg_current_xact_id_if_assigned()") is None
    assert ledger.complete(held) == ["done"]
    assert guard_commit(other, held) == "nothing"  # also when the job is lost: nothing is committed


@pytest.mark.usefixtures("effects")
def test_one_that_wrote_holds_the_ownership_to_its_end(ledger: Ledger, other: Ledger) -> None:
    held = ledger.start()
    other.run("insert into effect values (1)")
    assert guard_commit(other, held) == "guarded"
    assert ledger.complete(held) == ["busy"]
    other.conn.commit()
    assert ledger.complete(held) == ["done"]


@pytest.mark.usefixtures("effects")
def test_one_that_wrote_for_a_lost_job_cannot_commit(ledger: Ledger, other: Ledger) -> None:
    held = ledger.abandoned()
    other.run("insert into effect values (1)")
    ledger.reap()
    with refused("EQ001", hint="roll back", names=held.id):
        guard_commit(other, held)
    other.conn.commit()  # which the server turns into a rollback
    assert ledger.one("select count(*) from effect") == 0


@pytest.mark.usefixtures("effects")
def test_one_of_a_job_that_is_somebody_elses_cannot_commit(ledger: Ledger, other: Ledger) -> None:
    held = ledger.abandoned()
    ledger.reap()
    assert ledger.take().id == held.id
    other.run("insert into effect values (1)")
    with refused("EQ001", hint="roll back", names=held.id):
        guard_commit(other, held)


@pytest.mark.parametrize("verb", SETTLE)
@pytest.mark.parametrize("savepoint", [False, True], ids=["plain", "in a savepoint"])
def test_the_transaction_that_settled_the_job_passes_and_every_later_one_is_told_so(
    ledger: Ledger, other: Ledger, verb: str, savepoint: bool
) -> None:
    settle, how, raised = SETTLE[verb]
    held = ledger.start()
    if savepoint:
        other.run("savepoint a")
        other.run("savepoint b")
    settle(other, held)
    if savepoint:
        other.run("release b")
    assert guard_commit(other, held) == "settled"
    other.guard(held)
    other.conn.commit()
    with refused(raised, hint="roll back", names=held.id):
        other.guard(held)
    other.conn.rollback()
    other.run("create temp table later (n int)")  # it has an xid of its own
    with refused(raised, names=how):
        other.guard(held)
    other.conn.rollback()
    # Also when somebody else has it by now: this claim was ended by its own holder.
    ledger.run("update emq.scheduled set run_at = clock_timestamp()")
    ledger.promote()
    ledger.claim()
    with refused(raised):
        ledger.guard(held)


@pytest.mark.parametrize("verb", ["complete", "retry"])
def test_what_another_claim_did_is_not_this_ones_settlement(ledger: Ledger, verb: str) -> None:
    held = ledger.start()
    SETTLE[verb][0](ledger, held)
    stale = replace(held, fence=held.fence + 1)
    with refused("EQ001"):
        ledger.guard(stale)


def test_a_settlement_that_was_rolled_back_to_a_savepoint_counts_for_nothing(
    ledger: Ledger, other: Ledger
) -> None:
    held = ledger.start()
    other.run("savepoint a")
    other.complete(held)
    other.run("rollback to a")
    other.guard(held)
    other.conn.rollback()
    assert ledger.complete(held) == ["done"]


def test_a_settlement_by_another_open_transaction_lets_nobody_pass(
    ledger: Ledger, other: Ledger, db: Database
) -> None:
    held = ledger.start()
    other.complete(held)
    waiting = Ledger(db.connect(options="-c lock_timeout=100ms"))
    with refused("55P03"):  # it waits to see how that ends
        waiting.guard(held)
    other.conn.commit()
    with refused("EQ007"):
        waiting.guard(held)


def test_an_extension_passes_a_guarded_commit(ledger: Ledger, other: Ledger) -> None:
    held = ledger.start()
    other.run("create temp table t (n int)")
    assert guard_commit(other, held) == "guarded"
    assert ledger.extend(held) == ["done"]


@pytest.mark.parametrize(("lease", "bound"), [("1 s", "10s"), ("5 min", "5min")])
def test_a_guard_bounds_how_long_the_session_may_idle_in_this_transaction(
    ledger: Ledger, other: Ledger, lease: str, bound: str
) -> None:
    held = ledger.start(lease=lease)
    other.guard(held)
    assert idle_limit(other) == bound
    other.conn.commit()
    assert idle_limit(other) == "0"


def test_a_shorter_bound_stays_and_a_longer_one_does_not(ledger: Ledger, other: Ledger) -> None:
    held = ledger.start(lease="30 s")
    other.run("set idle_in_transaction_session_timeout = '7s'")
    other.guard(held)
    assert idle_limit(other) == "7s"
    other.conn.commit()
    other.run("set idle_in_transaction_session_timeout = '1h'")
    other.conn.commit()
    other.guard(held)
    assert idle_limit(other) == "30s"


@pytest.mark.parametrize(("lease", "bound"), [("1 s", "10s"), ("30 s", "30s")])
def test_what_is_left_after_a_guarded_commit_is_bounded_as_a_whole(
    ledger: Ledger, other: Ledger, pg_server: PgServer, lease: str, bound: str
) -> None:
    held = ledger.start(lease=lease)
    if pg_server.major < 17:  # which cannot bound it as a whole
        other.run("create table written (n int)")
        guard_commit(other, held)
        assert idle_limit(other) == bound
        return
    other.guard(held)  # in the middle of a transaction, which may take long
    assert other.one("select current_setting('transaction_timeout')") == "0"
    guard_commit(other, held)
    assert other.one("select current_setting('transaction_timeout')") == bound
    other.conn.commit()
    assert other.one("select current_setting('transaction_timeout')") == "0"


def test_a_holder_that_never_comes_back_from_its_guard_loses_its_session_and_then_its_job(
    ledger: Ledger, db: Database
) -> None:
    frozen = Ledger(
        db.connect(autocommit=False, options="-c idle_in_transaction_session_timeout=300")
    )
    held = ledger.abandoned()
    frozen.run("create table written (n int)")
    frozen.guard(held)
    assert ledger.reap() == (0, 0, 0)
    ledger.until(lambda: ledger.reap() == (1, 0, 0), "the session was ended, the job taken back")
    assert ledger.one("select to_regclass('written')") is None


def test_the_ledger_says_which_it_is(ledger: Ledger) -> None:
    assert ledger.one("select emq.ledger_id() = ledger_id from emq.meta")


def idle_limit(ledger: Ledger) -> str:
    return cast(str, ledger.one("select current_setting('idle_in_transaction_session_timeout')"))
