"""How an application names its database, and what it is told when it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
import sqlalchemy
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import create_async_engine

from emq_sql import EMQ
from emq_sql.errors import BadName, BadSetting, SchemaMissing, UnsupportedHandle
from emq_sql.protocol import steps
from tests.plugins.databases import Database


def forms(dsn: str) -> dict[str, Any]:
    """The same database, in each way that it may be written."""
    parts = urlsplit(dsn)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    rest = dsn.removeprefix("postgresql")
    several = query | {
        "host": f"{query.get('host', '')},{query.get('host', '')}",
        "port": f"{query.get('port', 5432)},{query.get('port', 5432)}",
    }
    return {
        "postgresql": dsn,
        "postgres": f"postgres{rest}",
        "postgresql+psycopg": f"postgresql+psycopg{rest}",
        "keywords": make_conninfo(dsn),
        "url object": sqlalchemy.make_url(f"postgresql+psycopg{rest}"),
        "two hosts": make_conninfo(dsn, host=several["host"], port=several["port"]),
        "engine": sqlalchemy.create_engine(f"postgresql+psycopg{rest}"),
    }


@pytest.mark.parametrize("form", list(forms("postgresql://u@/d?host=/tmp")))
def test_the_database_may_be_written_in_many_ways(db: Database, form: str) -> None:
    emq = EMQ(forms(db.dsn)[form])
    assert emq.task(name="send")(print).enqueue().status == "enqueued"
    with emq.connection() as conn:
        assert conn.info.dbname == db.name
        assert conn.autocommit
        if form != "engine":
            assert conn.prepare_threshold is None
            assert conn.info.parameter_status("application_name") == "emq_sql"
    emq.engine.dispose()


@pytest.mark.parametrize("given", [None, "77"])
@pytest.mark.parametrize("form", ["postgresql", "keywords", "url object"])
def test_a_server_that_does_not_answer_is_waited_for_ten_seconds_unless_the_setting_says_other(
    db: Database, monkeypatch: pytest.MonkeyPatch, form: str, given: str | None
) -> None:
    monkeypatch.delenv("PGCONNECT_TIMEOUT", raising=False)
    dsn = db.dsn if given is None else f"{db.dsn}&connect_timeout={given}"
    emq = EMQ(forms(dsn)[form])
    with emq.connection() as conn:
        assert conn.info.get_parameters()["connect_timeout"] == (given or "5")
    emq.engine.dispose()


def test_a_url_of_libpq_may_name_several_hosts(db: Database) -> None:
    said = conninfo_to_dict(db.dsn)
    place = f"{quote(str(said['host']), safe='')}:{said.get('port', 5432)}"
    login = f"{said.get('user', '')}:{said.get('password', '')}".rstrip(":")
    emq = EMQ(f"postgresql://{login}@{place},{place}/{db.name}?target_session_attrs=read-write")
    assert emq.task(name="send")(print).enqueue().status == "enqueued"
    emq.engine.dispose()


def test_an_application_name_of_ones_own_is_kept(db: Database) -> None:
    emq = EMQ(f"{db.dsn}&application_name=shop")
    with emq.connection() as conn:
        assert conn.info.parameter_status("application_name") == "shop"
    emq.engine.dispose()


@pytest.mark.parametrize(
    "database",
    [
        "", " ", "shop", "localhost:5432/shop", "secret=1", "host=a password='secret",
        "://secret@h/d", "http://secret@h/d", "sqlite://", "mysql://u:secret@h/d",
        "postgresql+psycopg2://u:secret@h/d", "postgresql+asyncpg://u:secret@h/d",
        URL.create("sqlite"), URL.create("postgresql+psycopg2", host="h", password="secret"),
    ],
)  # fmt: skip
def test_what_is_no_database_of_ours_is_refused_without_quoting_it(database: Any) -> None:
    with pytest.raises(BadSetting) as told:
        EMQ(database)
    assert "secret" not in str(told.value)


@pytest.mark.parametrize("database", [5, b"postgresql://h/d", Path("/tmp"), ["x"], object()])
def test_what_is_no_setting_at_all_is_refused(database: Any) -> None:
    with pytest.raises(UnsupportedHandle, match="no database setting"):
        EMQ(database)


def test_an_asynchronous_engine_is_refused_by_either_face_and_its_url_is_taken(
    db: Database,
) -> None:
    engine = create_async_engine(f"postgresql+psycopg{db.dsn.removeprefix('postgresql')}")
    with pytest.raises(UnsupportedHandle, match="asynchronous"):
        EMQ(engine.sync_engine)
    with pytest.raises(UnsupportedHandle, match="no database setting"):
        EMQ(engine)  # type: ignore[arg-type]
    emq = EMQ(engine.url)
    assert emq.queues() == []
    emq.engine.dispose()


def test_an_engine_with_another_driver_is_refused() -> None:
    with pytest.raises(UnsupportedHandle, match="pysqlite"):
        EMQ(sqlalchemy.create_engine("sqlite://"))


def test_without_a_database_it_says_what_to_do_and_not_before_it_needs_one(
    monkeypatch: pytest.MonkeyPatch, db: Database
) -> None:
    monkeypatch.delenv("EMQ_DSN", raising=False)
    emq = EMQ()
    send = emq.task(name="send")(print)
    send.job()
    for ask in (send.enqueue, emq.queues, emq.connect, lambda: emq.engine):
        with pytest.raises(BadSetting, match=r"No database is set\. Give EMQ\(.*EMQ_DSN"):
            ask()
    monkeypatch.setenv("EMQ_DSN", db.dsn)
    assert send.enqueue().status == "enqueued"
    emq.engine.dispose()


@pytest.mark.parametrize(
    "schema", ["", "Emq", "public", "pg_emq", "user", "a b", "e;drop", 5, None]
)
def test_a_schema_name_outside_the_grammar_is_refused(schema: Any) -> None:
    with pytest.raises(BadName):
        EMQ("postgresql://h/d", schema=schema)


@pytest.mark.parametrize("limit", [0, -1, 1.5, "9", None, True, 10**9])
def test_a_payload_limit_that_is_none_is_refused(limit: Any) -> None:
    with pytest.raises(BadSetting, match="payload_limit"):
        EMQ("postgresql://h/d", payload_limit=limit)


def test_a_database_without_the_ledger_says_how_to_install_it(empty_db: Database) -> None:
    emq = EMQ(empty_db.dsn)
    for ask in (emq.task(name="send")(print).enqueue, emq.queues, emq.reap):
        with pytest.raises(SchemaMissing, match="emq schema upgrade"):
            ask()
    emq.engine.dispose()


def test_two_ledgers_in_one_database_know_nothing_of_each_other(db: Database) -> None:
    steps.upgrade(db.connect(), schema="jobs")
    one, two = EMQ(db.dsn), EMQ(db.dsn, schema="jobs")
    answer = one.task(name="send")(print).enqueue()
    two.pause("default")
    assert two.place(answer.id) is None
    assert [(q["pending"], q["paused"]) for q in one.queues()] == [(1, False)]
    assert [(q["pending"], q["paused"]) for q in two.queues()] == [(0, True)]
    again = two.task(name="send")(print).using(job_id=answer.id).enqueue()
    assert again.status == "enqueued"
    for app in (one, two):
        app.engine.dispose()


def test_a_connection_of_ones_own_is_not_from_the_pool(db: Database) -> None:
    engine = sqlalchemy.create_engine(
        db.dsn.replace("postgresql:", "postgresql+psycopg:", 1), pool_size=1, max_overflow=0
    )
    emq = EMQ(engine)
    mine = [emq.connect() for _ in range(3)]
    assert [conn.autocommit for conn in mine] == [True] * 3
    assert emq.queues() == []
    engine.dispose()
    for conn in mine:
        conn.execute("select 1")
        conn.close()


def test_a_connection_goes_back_to_the_users_pool_as_it_was(db: Database) -> None:
    engine = sqlalchemy.create_engine(
        db.dsn.replace("postgresql:", "postgresql+psycopg:", 1), pool_size=1, max_overflow=0
    )
    emq = EMQ(engine)
    send = emq.task(name="send")(print)
    with emq.connection() as ours:
        pid = ours.info.backend_pid
    with engine.connect() as connection:
        assert connection.exec_driver_sql("select pg_backend_pid()").scalar() == pid
        send.using(session=connection).enqueue()
        connection.rollback()
    assert emq.queues() == []
    engine.dispose()
