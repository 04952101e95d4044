"""A transaction whose snapshot is older than what has become of its job."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from emq_sql.errors import JobFinished, LeaseBusy, LeaseLost
from tests.effects.conftest import DRIVERS, TWO_DRIVERS, WRITE, Pool, Running, idle
from tests.protocol.calls import Ledger

CLEAN = text("select pg_current_xact_id_if_assigned() is null and count(*) = 0 from effect")


@pytest.fixture(params=TWO_DRIVERS)
def repeatable(request: pytest.FixtureRequest, make_pool: Callable[..., Pool]) -> Pool:
    return make_pool(request.param, isolation_level="REPEATABLE READ")


def after(happens: Callable[[], object], *, expects: type[Exception] | None) -> Callable[..., None]:
    """Takes its snapshot, writes, and commits after that has happened."""

    def scenario(session: Session) -> None:
        assert session.scalar(text("select count(*) from effect")) == 0
        session.execute(WRITE, {"n": 1})
        driver = session.connection().connection.driver_connection
        happens()
        if expects is None:
            session.commit()
            return
        with pytest.raises(expects) as caught:
            session.commit()
        assert type(caught.value) is expects
        assert idle(driver)
        session.rollback()
        assert session.scalar(CLEAN)

    return scenario


def test_a_job_that_was_taken_away_since_the_snapshot_is_a_lost_one(
    run: Running, repeatable: Pool
) -> None:
    """The server can only say that it cannot say: what became of it is asked in a new snapshot."""
    repeatable.session(after(run.lose, expects=LeaseLost))
    assert run.written() == []
    assert run.refused == ["guard"]


def test_a_job_that_was_settled_since_the_snapshot_is_a_finished_one(
    run: Running, repeatable: Pool
) -> None:
    repeatable.session(after(lambda: run.ledger.complete(run.held), expects=JobFinished))
    assert run.written() == []
    assert run.refused == ["guard"]


def test_an_extension_since_the_snapshot_changes_nothing(run: Running, repeatable: Pool) -> None:
    repeatable.session(after(lambda: run.ledger.extend(run.held), expects=None))
    assert run.written() == [1]
    assert run.refused == []


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_conflict_of_the_applications_own_goes_on_as_sqlalchemys_error(
    run: Running, make_pool: Callable[..., Pool], other: Ledger, driver: str
) -> None:
    """Two that read what the other one writes: the second to commit has to be retried."""
    pool = make_pool(driver, isolation_level="SERIALIZABLE")
    other.run("set transaction isolation level serializable")

    def conflict() -> None:
        other.rows("select * from effect")
        other.run("insert into effect values (2)")
        other.conn.commit()

    def scenario(session: Session) -> None:
        session.scalar(text("select count(*) from effect"))
        session.execute(WRITE, {"n": 1})
        conflict()
        with pytest.raises(DBAPIError) as caught:
            session.commit()
        error = caught.value.orig
        assert "40001" in (getattr(error, "sqlstate", None), getattr(error, "pgcode", None))
        session.rollback()
        session.execute(WRITE, {"n": 1})
        session.commit()

    pool.session(scenario)
    assert run.written() == [1, 2]
    assert run.refused == []


def test_beside_the_handlers_own_open_settlement_nothing_else_is_committed(
    run: Running, make_pool: Callable[..., Pool], other: Ledger
) -> None:
    """The two would wait for each other for ever; neither is lost."""
    pool = make_pool(connect_args={"options": "-c lock_timeout=50ms"})
    other.complete(run.held)

    def scenario(session: Session) -> None:
        session.execute(WRITE, {"n": 1})
        with pytest.raises(LeaseBusy, match="commit that first"):
            session.commit()
        session.rollback()
        assert session.scalar(CLEAN)

    pool.session(scenario)
    other.conn.commit()
    assert run.refused == []
