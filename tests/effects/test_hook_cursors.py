"""What a cursor WITH HOLD writes in the COMMIT is guarded too, and what cannot be held is named."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from emq_sql.effects.current import unguarded
from emq_sql.effects.guards import guard_in
from emq_sql.errors import CannotGuard, LeaseLost
from tests.effects.conftest import DRIVERS, WRITE, Pool, Running

each_driver = pytest.mark.parametrize("pool", DRIVERS, indirect=True)


@pytest.fixture
def writing(run: Running) -> None:
    run.ledger.run(
        "create function write(n int) returns int language sql volatile"
        " as 'insert into effect values (n) returning n'"
    )


def later(session: Session) -> None:
    session.execute(text("declare later cursor with hold for select write(1)"))
    session.commit()


@each_driver
@pytest.mark.usefixtures("writing")
def test_a_run_that_lost_its_job_writes_nothing_by_a_cursor_either(
    run: Running, pool: Pool
) -> None:
    run.lose()
    with pytest.raises(LeaseLost, match=str(run.held.id)):
        pool.session(later)
    assert run.written() == []
    assert run.refused == ["guard"]


@pytest.mark.usefixtures("writing")
def test_the_holder_commits_what_its_cursor_writes(run: Running, pool: Pool) -> None:
    pool.session(later)
    assert run.written() == [1]


def write_then_read_only(session: Session) -> None:
    session.execute(WRITE, {"n": 1})
    session.execute(text("set transaction read only"))
    session.commit()


def temporary_in_read_only(session: Session) -> None:
    session.execute(text("create temp table scratch (n int)"))
    session.commit()
    session.execute(text("set transaction read only"))
    session.execute(text("insert into scratch values (1)"))
    session.commit()


@each_driver
@pytest.mark.parametrize("commit", [write_then_read_only, temporary_in_read_only])
def test_what_was_written_in_a_read_only_transaction_is_refused_by_name(
    run: Running, pool: Pool, commit: object
) -> None:
    assert callable(commit)
    with pytest.raises(CannotGuard, match=r"read-only.*read-write.*EMQ204"):
        pool.session(commit)
    assert run.written() == []
    assert run.refused == []  # the job is not lost
    assert pool.session(lambda s: s.scalar(text("select pg_current_xact_id_if_assigned() is null")))
    with unguarded():
        pool.session(write_then_read_only)
    assert run.written() == [1]


def test_a_guard_by_hand_in_a_read_only_transaction_is_refused_by_name(
    run: Running, pool: Pool
) -> None:
    def by_hand(session: Session) -> None:
        session.execute(text("set transaction read only"))
        guard_in(session, "emq", run.lease)

    with pytest.raises(CannotGuard, match="read-only"):
        pool.session(by_hand)
