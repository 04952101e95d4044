"""Jobs that a handler adds: one that has lost its own adds none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import create_engine
from sqlalchemy.engine import Engine
from sqlalchemy.orm import Session

from emq_sql import EMQ, Task
from emq_sql.effects.current import here
from emq_sql.errors import BadInput, JobFinished, LeaseBusy, LeaseLost, Retryable
from emq_sql.protocol import steps
from tests.effects.conftest import Running, sqlalchemy_url
from tests.plugins.databases import Database
from tests.plugins.proxy import proxied
from tests.protocol.calls import Ledger
from tests.worker.traced import Traced, statements


def application(dsn: str | Engine) -> tuple[EMQ, Task[..., None]]:
    emq = EMQ(dsn, bell=False)

    @emq.task(queue="next")
    def follow(n: int) -> None: ...

    return emq, follow


@pytest.fixture
def emq(db: Database) -> Iterator[EMQ]:
    made, _ = application(db.dsn)
    yield made
    made.engine.dispose()


@pytest.fixture
def follow(emq: EMQ) -> Task[..., None]:
    return emq.get_task("follow")


def added(run: Running) -> list[int]:
    return run.ledger.column(
        "select (payload ->> 'n')::int from emq.job where task = 'follow' order by 1"
    )


def test_a_holder_adds_jobs(run: Running, follow: Task[..., None], emq: EMQ) -> None:
    assert follow.enqueue(n=1).status == "enqueued"
    many = [follow.using(queue=f"q{n}").job(n=n) for n in (2, 3)]
    assert [answer.status for answer in emq.enqueue_many(many)] == ["enqueued"] * 2
    assert emq.enqueue_many(many)[0].duplicate
    assert added(run) == [1, 2, 3]
    assert run.refused == []


def test_who_has_lost_the_job_adds_none(run: Running, follow: Task[..., None], emq: EMQ) -> None:
    run.lose()
    with pytest.raises(LeaseLost, match=str(run.held.id)) as caught:
        follow.enqueue(n=1)
    assert isinstance(caught.value.__cause__, psycopg.Error)
    with pytest.raises(LeaseLost):
        emq.enqueue_many([follow.using(queue=f"q{n}").job(n=n) for n in (2, 3)])
    assert added(run) == []
    assert run.refused == ["guard", "guard"]
    with emq.connection() as clean:
        assert clean.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def test_who_has_settled_the_job_adds_none(run: Running, follow: Task[..., None]) -> None:
    assert run.ledger.complete(run.held) == ["done"]
    with pytest.raises(JobFinished):
        follow.enqueue(n=1)
    assert added(run) == []


def test_a_settlement_that_is_open_is_to_be_committed_first(
    run: Running, db: Database, other: Ledger
) -> None:
    emq, follow = application(f"{db.dsn}&options=-c%20lock_timeout%3D50ms")
    other.complete(run.held)
    with pytest.raises(LeaseBusy, match="commit that first"):
        follow.enqueue(n=1)
    emq.engine.dispose()
    assert added(run) == []
    assert run.refused == []


def test_what_is_refused_at_the_door_is_refused_as_ever(
    run: Running, follow: Task[..., None]
) -> None:
    with pytest.raises(BadInput):
        follow.enqueue(n=float("nan"))
    assert run.refused == []


def test_jobs_in_a_session_are_added_with_it_or_not_at_all(
    run: Running, follow: Task[..., None], engine: Engine
) -> None:
    with Session(engine) as session:
        follow.using(session=session).enqueue(n=1)
        session.commit()
    run.lose()
    with Session(engine) as session:
        follow.using(session=session).enqueue(n=2)
        with pytest.raises(LeaseLost):
            session.commit()
    assert added(run) == [1]


def test_jobs_on_a_connection_in_autocommit_are_guarded_too(
    run: Running, follow: Task[..., None], db: Database
) -> None:
    """The statement would commit by itself, whoever gave the connection."""
    engine = create_engine(sqlalchemy_url(db.dsn), isolation_level="AUTOCOMMIT")
    with db.connect() as raw, Session(engine) as session:
        for handle in (raw, session):
            follow.using(session=handle).enqueue(n=1)
        run.lose()
        for handle in (raw, session):
            with pytest.raises(LeaseLost):
                follow.using(session=handle).enqueue(n=2)
        assert raw.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    engine.dispose()
    assert added(run) == [1, 1]


def test_jobs_of_another_ledger_in_another_database_are_left_alone(
    run: Running, empty_db: Database
) -> None:
    there = empty_db.connect()
    steps.upgrade(there, schema="emq")
    run.lose()
    emq, follow = application(empty_db.dsn)
    assert follow.enqueue(n=1).status == "enqueued"
    emq.engine.dispose()


def test_a_task_without_guard_adds_jobs_whatever_becomes_of_its_own(
    run: Running, follow: Task[..., None]
) -> None:
    run.begin(guard=False)
    run.lose()
    follow.enqueue(n=1)
    assert added(run) == [1]


def test_a_lost_connection_is_survived_and_the_job_is_added_once(
    run: Running, db: Database
) -> None:
    with proxied(db.dsn) as proxy:
        emq, follow = application(proxy.dsn)
        follow.enqueue(n=1)
        proxy.cut()
        assert follow.enqueue(n=2).status == "enqueued"
        emq.engine.dispose()
    assert added(run) == [1, 2]


def test_a_server_that_is_away_is_named(run: Running, db: Database) -> None:
    with proxied(db.dsn) as proxy:
        emq, follow = application(proxy.dsn)
    with pytest.raises(Retryable):
        follow.enqueue(n=1)
    emq.engine.dispose()


def test_outside_of_handlers_an_enqueue_is_one_statement_and_inside_one_transaction(
    run: Running, db: Database, tmp_path: Path
) -> None:
    def sent(name: str) -> list[str]:
        trace = tmp_path / name

        def connect() -> psycopg.Connection[object]:
            connection = Traced.connect(db.dsn)
            connection.trace(trace)
            return connection

        engine = create_engine("postgresql+psycopg://", creator=connect)
        _, follow = application(engine)
        for n in range(2):
            follow.enqueue(n=n)
        engine.dispose()
        ours = statements(trace)
        first = next(k for k, one in enumerate(ours) if "emq.enqueue(" in one)
        return [one.split("(")[0].split()[-1] for one in ours[first + 1 :]]

    guarded = ["BEGIN", "emq.enqueue", "emq.guard_commit", "COMMIT"]
    assert [one for one in sent("inside") if one != "ROLLBACK"][-4:] == guarded
    here.set(None)
    assert [one for one in sent("outside") if one != "ROLLBACK"] == ["emq.enqueue"]
