"""A database in another encoding than UTF8, or a connection that speaks one, changes no answer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
import sqlalchemy

from emq_sql import EMQ
from emq_sql.errors import BadPayload
from emq_sql.job import Lease
from emq_sql.protocol import claiming, connecting, holding, reading, steps
from emq_sql.upkeep import doctor
from tests.plugins.databases import Database, scratch
from tests.plugins.running import PgServer

NO_LATIN = "\N{SNOWMAN}"
ENCODINGS = ["SQL_ASCII", "LATIN1", "EUC_JP", "UTF8"]


def ready(database: Database) -> Database:
    with database.connect() as connection:
        steps.upgrade(connection)
    return database


@pytest.fixture(params=ENCODINGS)
def in_encoding(request: pytest.FixtureRequest, pg_server: PgServer) -> Iterator[Database]:
    """A ledger in a database of this encoding."""
    with scratch(pg_server, encoding=request.param) as database:
        yield ready(database)


@pytest.fixture
def latin(pg_server: PgServer) -> Iterator[Database]:
    """A ledger in a database that has no snowman."""
    with scratch(pg_server, encoding="LATIN1") as database:
        yield ready(database)


def application(database: str | sqlalchemy.Engine) -> EMQ:
    made = EMQ(database)

    @made.task(queue="mail")
    def greet(name: str) -> str:
        return name

    return made


def claim(connection: psycopg.Connection[Any]) -> tuple[Any, Lease]:
    (claimed,) = claiming.claim(connection, "emq", "mail", 1, "w", 7)
    return claimed.payload, claimed.lease


def run(emq: EMQ, name: str) -> Any:
    """Enqueue, claim and complete a job on the connections that a worker uses; its result."""
    job = emq.get_task("greet").enqueue(name=name)
    assert job.status == "enqueued"
    with emq.connect() as connection:
        payload, lease = claim(connection)
        assert payload == {"name": name}
        result = f'"{name}"'
        assert holding.complete(connection, "emq", [lease], [result], own=True) == ["done"]
        assert reading.place(connection, "emq", job.id)["place"] == "completed"  # type: ignore[index]
    return emq.result(job.id)["result"]  # type: ignore[index]


def test_a_job_runs_in_a_database_of_any_encoding(in_encoding: Database) -> None:
    emq = application(in_encoding.dsn)
    try:
        assert run(emq, "caf\u00e9") == "caf\u00e9"
    finally:
        emq.engine.dispose()


@pytest.mark.parametrize("encoding", ["latin1", "sql_ascii"])
def test_a_callers_connection_is_answered_in_words(in_encoding: Database, encoding: str) -> None:
    """psycopg gives bytes where the client_encoding is SQL_ASCII."""
    emq = application(in_encoding.dsn)
    task = emq.get_task("greet")
    try:
        connection = in_encoding.connect(client_encoding=encoding)
    except psycopg.OperationalError:
        pytest.skip("PostgreSQL has no conversion between the two")
    try:
        one = task.using(session=connection).enqueue(name="b")
        assert one.status == "enqueued"
        assert task.using(session=connection, job_id=one.id).enqueue(name="b").duplicate
        assert emq.enqueue_many([task.job("c"), task.job("d")], session=connection)[1].status == (
            "enqueued"
        )
        assert reading.place(connection, "emq", one.id)["place"] == "pending"  # type: ignore[index]
    finally:
        emq.engine.dispose()


def test_the_environment_does_not_choose_our_encoding(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "latin1")
    emq = application(db.dsn)
    try:
        assert run(emq, NO_LATIN) == NO_LATIN
    finally:
        emq.engine.dispose()


def test_a_worker_speaks_utf8_whatever_the_applications_engine_does(db: Database) -> None:
    url = db.dsn.replace("postgresql:", "postgresql+psycopg:", 1)
    engine = sqlalchemy.create_engine(url, connect_args={"client_encoding": "latin1"})
    emq = application(engine)
    try:
        with connecting.dedicated(engine) as connection:
            assert connection.info.encoding == "utf-8"
        assert run(emq, "caf\u00e9") == "caf\u00e9"
    finally:
        engine.dispose()


def test_a_failure_is_recorded_whatever_it_says(latin: Database) -> None:
    emq = application(latin.dsn)
    try:
        emq.get_task("greet").enqueue(name="x")
        with emq.connect() as connection:
            _, lease = claim(connection)
            error, wait = f"no {NO_LATIN}", timedelta(seconds=1)
            assert holding.retry(connection, "emq", [lease], [wait], [error], own=True) == [
                "scheduled"
            ]
            story = reading.story(connection, "emq", lease.id)
        assert [event["detail"] for event in story][-1] == "no \\u2603"
    finally:
        emq.engine.dispose()


def test_what_the_database_lacks_is_refused_at_enqueue_and_the_doctor_warns(
    latin: Database,
) -> None:
    emq = application(latin.dsn)
    try:
        with pytest.raises(BadPayload, match="use a UTF8 database"):
            emq.get_task("greet").enqueue(name=NO_LATIN)
        with emq.connect() as connection:
            found = {finding.subject: finding for finding in doctor.examine(connection, "emq")}
        assert (found["encoding"].state, "LATIN1" in found["encoding"].found) == ("warn", True)
    finally:
        emq.engine.dispose()
