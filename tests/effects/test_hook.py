"""While a handler runs its commits are guarded, on every driver and without a line of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import event, text
from sqlalchemy.engine import Engine
from sqlalchemy.exc import PendingRollbackError
from sqlalchemy.orm import Session

from emq_sql.effects.current import here
from emq_sql.errors import CannotGuard, JobFinished, LeaseLost
from tests.effects.conftest import DRIVERS, WRITE, Pool, Running, idle

each_driver = pytest.mark.parametrize("pool", DRIVERS, indirect=True)
CLEAN = text("select pg_current_xact_id_if_assigned() is null and count(*) = 0 from effect")


def write_and_commit(session: Session, n: int = 1) -> None:
    session.execute(WRITE, {"n": n})
    session.commit()


def test_the_holder_commits(run: Running, pool: Pool) -> None:
    pool.session(write_and_commit)
    assert run.written() == [1]
    assert run.refused == []


@each_driver
def test_who_has_lost_the_job_commits_nothing_and_the_pool_is_clean(
    run: Running, pool: Pool
) -> None:
    pid = pool.session(lambda session: session.scalar(text("select pg_backend_pid()")))
    run.lose()
    with pytest.raises(LeaseLost, match=str(run.held.id)) as caught:
        pool.session(write_and_commit)
    assert type(caught.value) is LeaseLost
    assert getattr(caught.value.__cause__, "sqlstate", None) or caught.value.__cause__.pgcode  # type: ignore[union-attr]
    assert pool.session(lambda session: session.scalar(CLEAN))
    assert pool.session(lambda session: session.scalar(text("select pg_backend_pid()"))) == pid
    assert run.written() == []
    assert run.refused == ["guard"]


def test_who_swallows_the_refusal_commits_nothing_either(run: Running, pool: Pool) -> None:
    run.lose()

    def stubborn(session: Session) -> None:
        driver = session.connection().connection.driver_connection
        with pytest.raises(LeaseLost):
            write_and_commit(session)
        assert idle(driver)
        with pytest.raises(PendingRollbackError):
            session.commit()
        session.close()

    pool.session(stubborn)
    assert pool.session(lambda session: session.scalar(CLEAN))
    assert run.written() == []
    assert run.refused == ["guard"]


def test_a_session_is_usable_after_the_refusal_and_its_rollback(run: Running, pool: Pool) -> None:
    run.lose()

    def goes_on(session: Session) -> object:
        for _ in range(2):
            with pytest.raises(LeaseLost):
                write_and_commit(session)
            session.rollback()
        return session.scalar(CLEAN)

    assert pool.session(goes_on)
    assert run.written() == []
    assert run.refused == ["guard", "guard"]


def test_reading_passes_when_the_job_is_lost(run: Running, pool: Pool) -> None:
    run.lose()

    def reads(session: Session) -> None:
        session.execute(text("select * from effect"))
        session.commit()

    pool.session(reads)
    assert run.refused == []


def test_a_release_of_a_savepoint_is_no_commit(run: Running, pool: Pool) -> None:
    def saves(session: Session) -> None:
        with session.begin_nested():
            session.execute(WRITE, {"n": 1})
        run.lose()  # at the release nobody had held it
        with session.begin_nested():
            session.execute(WRITE, {"n": 2})
        with pytest.raises(LeaseLost):
            session.commit()

    pool.session(saves)
    assert run.written() == []


def test_a_failed_transaction_is_not_asked_about(run: Running, pool: Pool) -> None:
    run.lose()

    def fails(session: Session) -> None:
        connection = session.connection()
        connection.execute(WRITE, {"n": 1})
        with pytest.raises(Exception, match="nowhere"):
            connection.execute(text("select * from nowhere"))
        connection.get_transaction().commit()  # type: ignore[union-attr]

    pool.session(fails)
    assert run.written() == []
    assert run.refused == []


@each_driver
def test_the_transaction_that_settles_the_job_passes_and_later_ones_are_refused_as_finished(
    run: Running, pool: Pool
) -> None:
    def settles(session: Session) -> None:
        session.execute(WRITE, {"n": 1})
        ids, fences = f"'{{{run.held.id}}}'::uuid[]", f"'{{{run.held.fence}}}'::bigint[]"
        assert session.scalar(text(f"select (emq.complete({ids}, {fences}))[1]")) == "done"
        session.commit()
        with pytest.raises(JobFinished, match="completed"):
            write_and_commit(session, 2)

    pool.session(settles)
    assert run.written() == [1]
    assert run.refused == ["guard"]


def test_a_commit_of_emq_sqls_own_settlement_passes_unasked_and_only_that_one(
    run: Running, pool: Pool
) -> None:
    guarded = here.get()
    assert guarded is not None
    run.lose()  # so that it would be refused if it were asked about

    def settles(session: Session) -> None:
        session.execute(WRITE, {"n": 1})
        guarded.settling.add(session.connection().connection.driver_connection)
        session.commit()
        with pytest.raises(LeaseLost):
            write_and_commit(session, 2)

    pool.session(settles)
    assert run.written() == [1]


@each_driver
def test_a_lost_connection_lets_no_commit_through(run: Running, pool: Pool) -> None:
    def loses_it(session: Session) -> None:
        session.execute(WRITE, {"n": 1})
        pid = session.scalar(text("select pg_backend_pid()"))
        run.ledger.one("select pg_terminate_backend(%s, 10000)", pid)
        with pytest.raises(Exception, match=r"clos|terminat|connection"):
            session.commit()

    pool.session(loses_it)
    assert pool.session(lambda session: session.scalar(CLEAN))
    assert run.refused == []


def test_a_guard_that_is_gone_lets_no_commit_through(run: Running, pool: Pool) -> None:
    pool.session(write_and_commit)
    run.ledger.run("alter function emq.guard_commit rename to guard_commits")

    def writes(session: Session) -> None:
        for _ in range(2):
            with pytest.raises(CannotGuard, match="schema"):
                write_and_commit(session, 2)
            session.rollback()

    pool.session(writes)
    assert run.written() == [1]
    run.ledger.run("alter function emq.guard_commits rename to guard_commit")
    pool.session(lambda session: write_and_commit(session, 3))
    assert run.written() == [1, 3]


def test_the_guard_holds_the_job_to_the_end_of_the_commit(run: Running, pool: Pool) -> None:
    """Until COMMIT has come through nobody can take the job: the reaper steps over it."""
    reaped: list[tuple[int, int, int]] = []
    engine = pool.engine if isinstance(pool.engine, Engine) else pool.engine.sync_engine
    event.listen(engine, "commit", lambda _: reaped.append(run.ledger.reap()))
    pool.session(write_and_commit)
    assert reaped == [(0, 0, 0)]
    assert run.ledger.reap() == (1, 0, 0)


def test_outside_handlers_nothing_is_asked(run: Running, pool: Pool) -> None:
    run.lose()
    here.set(None)
    pool.session(write_and_commit)
    assert run.written() == [1]


def test_asyncpg_which_prepares_all_it_sends_prepares_the_question_once_for_all_jobs(
    run: Running, make_pool: Callable[..., Pool]
) -> None:
    pool = make_pool("asyncpg")
    for n in range(3):
        pool.session(lambda session, n=n: write_and_commit(session, n))  # type: ignore[misc]
        run.held = run.ledger.start()
        run.begin()
    kept = text(
        "select count(*) from pg_prepared_statements where statement ~ '^select emq.guard_commit'"
    )
    assert pool.session(lambda session: session.scalar(kept)) == 1
