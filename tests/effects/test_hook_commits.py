"""The COMMIT that goes with the guard: what it raises is the application's own."""

from __future__ import annotations

import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.orm import Session

from emq_sql.errors import LeaseLost
from tests.effects.conftest import DRIVERS, WRITE, Pool, Running, idle

each_driver = pytest.mark.parametrize("pool", DRIVERS, indirect=True)
CLEAN = text("select pg_current_xact_id_if_assigned() is null")


def commits(session: Session, raises: type[Exception] | None = None) -> None:
    session.execute(WRITE, {"n": 1})
    driver = session.connection().connection.driver_connection
    if raises is None:
        session.commit()
        return
    with pytest.raises(raises):
        session.commit()
    assert idle(driver)
    session.rollback()
    assert session.scalar(CLEAN)


def at_commit(run: Running, does: str) -> None:
    run.ledger.run(f"""
      create function at_commit() returns trigger language plpgsql as $$ begin {does} end $$;
      create constraint trigger at_commit after insert on effect initially deferred
        for each row execute function at_commit()""")


@each_driver
def test_a_constraint_that_fails_at_the_commit_is_told_as_always(run: Running, pool: Pool) -> None:
    at_commit(run, "raise exception using errcode = '23514';")
    pool.session(lambda session: commits(session, IntegrityError))
    assert run.written() == []
    assert run.refused == []


@each_driver
def test_a_lock_that_the_commit_does_not_get_is_no_word_of_the_guards(
    run: Running, pool: Pool
) -> None:
    at_commit(run, "raise exception using errcode = '55P03';")
    pool.session(lambda session: commits(session, DBAPIError))
    assert run.written() == []
    assert run.refused == []


@each_driver
def test_what_fails_at_the_commit_of_a_lost_job_never_gets_so_far(run: Running, pool: Pool) -> None:
    at_commit(run, "raise exception using errcode = '23514';")
    run.lose()
    pool.session(lambda session: commits(session, LeaseLost))
    assert run.refused == ["guard"]


def test_beside_a_listener_that_comes_later_the_commit_is_its_own(run: Running, pool: Pool) -> None:
    """What that one writes is in the same transaction, and guarded."""

    @event.listens_for(getattr(pool.engine, "sync_engine", pool.engine), "commit")
    def writes(connection: object) -> None:
        connection.execute(WRITE, {"n": 2})  # type: ignore[attr-defined]

    pool.session(commits)
    assert run.written() == [1, 2]
    xids = "select count(distinct xmin::text) from effect"
    assert run.ledger.one(xids) == 1
