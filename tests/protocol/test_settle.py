"""settle: effects and the end of the run in one transaction or neither; a frozen one is bounded."""

from __future__ import annotations

from typing import cast

import pytest

from tests.plugins.databases import Database
from tests.plugins.running import PgServer
from tests.protocol.calls import Held, Ledger, refused

VERBS = ("complete", "retry", "snooze")


def settle(
    ledger: Ledger, held: Held, verb: str = "complete", *, last: bool = True, delay: str = "1 h",
    result: str | None = None, fence: int | None = None,
) -> str:  # fmt: skip
    answer = ledger.one(
        "select emq.settle(%s, %s, %s, %s, %s::jsonb, %s::interval, 'no')",
        held.id, fence or held.fence, verb, last, result, delay,
    )  # fmt: skip
    return cast(str, answer)


@pytest.fixture
def effects(ledger: Ledger) -> None:
    ledger.run("create table effect (n int)")


@pytest.mark.usefixtures("effects")
@pytest.mark.parametrize("verb", VERBS)
def test_effects_and_the_end_of_the_run_are_committed_together_or_not_at_all(
    ledger: Ledger, other: Ledger, verb: str
) -> None:
    held = ledger.start()
    for end, there in ((other.conn.rollback, False), (other.conn.commit, True)):
        other.run("insert into effect values (1)")
        assert settle(other, held, verb) == ("done" if verb == "complete" else "scheduled")
        end()
        assert ledger.one("select count(*) from effect") == there
        ended = "completed" if verb == "complete" else "handed back"
        assert ledger.outcome(held) == (ended if there else "yours")


def test_a_result_is_kept_and_a_failure_is_counted(ledger: Ledger) -> None:
    done = ledger.start()
    ledger.add_one(max_attempts=2)
    again = ledger.take()
    assert settle(ledger, done, result='{"n": 1}') == "done"
    assert ledger.one("select result from emq.archive where id = %s", done.id) == {"n": 1}
    assert settle(ledger, again, "retry", delay="0") == "pending"
    (again,) = ledger.claim()
    assert again.failures == 1
    assert settle(ledger, again, "retry") == "dead"
    assert ledger.outcome(again) == "dead"


@pytest.mark.usefixtures("effects")
@pytest.mark.parametrize("verb", VERBS)
def test_a_stale_holder_can_commit_nothing(ledger: Ledger, other: Ledger, verb: str) -> None:
    held = ledger.abandoned()
    ledger.reap()
    other.run("insert into effect values (1)")
    with refused("EQ001", hint="roll back", names=held.id):
        settle(other, held, verb)
    other.conn.commit()  # which the server turns into a rollback
    assert ledger.one("select count(*) from effect") == 0


@pytest.mark.usefixtures("effects")
@pytest.mark.parametrize("first", VERBS)
def test_what_another_transaction_has_settled_is_settled_by_no_later_one(
    ledger: Ledger, other: Ledger, first: str
) -> None:
    held = ledger.start()
    settle(ledger, held, first)
    for verb in VERBS:
        other.run("insert into effect values (1)")
        with refused("EQ007", names=held.id):
            settle(other, held, verb)
        other.conn.commit()
    assert ledger.one("select count(*) from effect") == 0


def test_a_repeat_in_the_transaction_that_settled_it_changes_nothing(
    ledger: Ledger, other: Ledger
) -> None:
    held = ledger.start()
    assert settle(other, held) == "done"
    assert settle(other, held, "retry") == "done"
    other.conn.commit()
    assert ledger.outcome(held) == "completed"


def test_it_waits_for_no_other_transaction(ledger: Ledger, other: Ledger, third: Ledger) -> None:
    held = ledger.start()
    other.guard(held)
    assert settle(third, held) == "busy"
    assert ledger.outcome(held) == "yours"
    other.conn.rollback()
    other.complete(held)
    assert settle(third, held) == "busy"
    other.conn.rollback()
    assert settle(third, held) == "done"


def test_a_verb_that_is_none_is_refused(ledger: Ledger) -> None:
    held = ledger.start()
    with refused("EQ006", names="'release'"):
        settle(ledger, held, "release")
    assert ledger.outcome(held) == "yours"


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(("lease", "bound"), [("1 s", "10s"), ("5 min", "5min")])
def test_what_is_left_of_the_transaction_is_bounded(
    ledger: Ledger, other: Ledger, pg_server: PgServer, verb: str, lease: str, bound: str
) -> None:
    held = ledger.start(lease=lease)
    settle(other, held, verb)
    whole = pg_server.major >= 17
    name = "transaction_timeout" if whole else "idle_in_transaction_session_timeout"
    assert limit(other, name) == bound
    other.conn.commit()
    assert limit(other, name) == "0"


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(("lease", "bound"), [("1 s", "10s"), ("5 min", "5min")])
def test_a_transaction_that_goes_on_is_bounded_while_it_idles(
    ledger: Ledger, other: Ledger, verb: str, lease: str, bound: str
) -> None:
    held = ledger.start(lease=lease)
    settle(other, held, verb, last=False)
    assert limit(other, "idle_in_transaction_session_timeout") == bound
    other.conn.commit()
    assert limit(other, "idle_in_transaction_session_timeout") == "0"


def test_shorter_limits_stay_and_a_transaction_that_goes_on_may_take_long(
    ledger: Ledger, other: Ledger, pg_server: PgServer
) -> None:
    held = ledger.start(lease="30 s")
    other.run("set idle_in_transaction_session_timeout = '7s'")
    settle(other, held, last=False)
    assert limit(other, "idle_in_transaction_session_timeout") == "7s"
    if pg_server.major < 17:
        return
    assert limit(other, "transaction_timeout") == "0"
    other.conn.rollback()
    other.run("set transaction_timeout = '1h'")
    other.run("set idle_in_transaction_session_timeout = '7s'")
    settle(other, held)
    assert limit(other, "transaction_timeout") == "1h"
    assert limit(other, "idle_in_transaction_session_timeout") == "7s"
    other.conn.rollback()
    other.run("set transaction_timeout = '1h'")
    settle(other, held)
    assert limit(other, "transaction_timeout") == "1h"
    assert limit(other, "idle_in_transaction_session_timeout") == "30s"


def test_a_holder_frozen_before_its_commit_loses_its_session_and_then_its_job(
    ledger: Ledger, db: Database
) -> None:
    frozen = Ledger(
        db.connect(autocommit=False, options="-c idle_in_transaction_session_timeout=300")
    )
    held = ledger.abandoned()
    frozen.run("create table written (n int)")
    settle(frozen, held)
    assert ledger.reap() == (0, 0, 0)
    ledger.until(lambda: ledger.reap() == (1, 0, 0), "the session was ended, the job taken back")
    assert ledger.one("select to_regclass('written')") is None


def limit(ledger: Ledger, name: str) -> str:
    return cast(str, ledger.one("select current_setting(%s)", name))
