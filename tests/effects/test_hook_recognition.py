"""The ledger's database is recognised wherever an engine comes from; all others are left alone."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import create_engine, text
from sqlalchemy.engine import Engine
from sqlalchemy.orm import Session

from emq_sql.effects import ledgers
from emq_sql.effects.effects import DatabaseEffects
from emq_sql.effects.ledgers import Ledgers
from emq_sql.errors import CannotGuard, LeaseLost
from emq_sql.protocol import guarding, steps
from emq_sql.protocol.guarding import asked_in
from tests.effects.conftest import WRITE, Pool, Running, sqlalchemy_url
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger
from tests.worker.traced import Traced, statements

GUARD = "select emq.guard_commit("


def write(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(WRITE, {"n": 1})


@pytest.fixture
def elsewhere(empty_db: Database) -> Iterator[Engine]:
    """A second database, which has no ledger."""
    Ledger(empty_db.connect()).run("create table effect (n int)")
    engine = create_engine(sqlalchemy_url(empty_db.dsn))
    yield engine
    engine.dispose()


def count(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.scalar(text("select count(*) from effect")) or 0)


def test_a_second_database_without_a_ledger_is_left_alone(run: Running, elsewhere: Engine) -> None:
    run.lose()
    write(elsewhere)
    assert count(elsewhere) == 1


def test_a_second_database_with_a_ledger_of_its_own_is_left_alone(
    run: Running, elsewhere: Engine, empty_db: Database
) -> None:
    with empty_db.connect() as connection:
        steps.upgrade(connection, schema="emq")
    run.lose()
    write(elsewhere)
    assert count(elsewhere) == 1


def test_a_ledger_of_another_version_in_a_second_database_is_left_alone(
    run: Running, elsewhere: Engine, empty_db: Database
) -> None:
    with empty_db.connect() as connection:
        steps.upgrade(connection, schema="emq")
        connection.execute("drop function emq.guard_commit")
    run.lose()
    write(elsewhere)
    assert count(elsewhere) == 1


def test_sqlite_is_left_alone(run: Running, tmp_path: Path) -> None:
    run.lose()
    engine = create_engine(f"sqlite:///{tmp_path / 'x.db'}")
    with Session(engine) as session:
        session.execute(text("create table effect (n int)"))
        session.execute(WRITE, {"n": 1})
        session.commit()
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(WRITE, {"n": 2})
    assert count(engine) == 2
    engine.dispose()


def test_another_schema_is_another_ledger_and_the_jobs_own_is_asked(
    run: Running, engine: Engine, db: Database
) -> None:
    """A write into the schema of a second ledger is still one into the first one's database."""
    with db.connect() as connection:
        steps.upgrade(connection, schema="emq_two")
    run.lose()
    with pytest.raises(LeaseLost), engine.begin() as user:
        user.execute(text("select emq_two.set_ledger('{\"audit_retention\": \"3 days\"}', 'x')"))


@pytest.fixture
def roundabout(db: Database, make_pool: Callable[..., Pool]) -> Engine:
    """The ledger's database under another address."""
    host = psycopg.conninfo.conninfo_to_dict(db.dsn)["host"]
    info = db.connect(host=f"{host}/." if str(host).startswith("/") else "127.0.0.1").info
    engine = make_pool(creator=lambda: psycopg.connect(info.dsn)).engine
    assert isinstance(engine, Engine)
    return engine


def test_the_same_database_under_another_address_is_recognised(
    run: Running, roundabout: Engine
) -> None:
    write(roundabout)
    run.lose()
    with pytest.raises(LeaseLost):
        write(roundabout)


def test_after_an_adoption_the_ledger_is_recognised_under_its_new_id(
    run: Running, engine: Engine, roundabout: Engine
) -> None:
    write(engine)  # asks the ledger for its id
    before = run.ledger.one("select emq.ledger_id()")
    run.ledger.rows("select emq.adopt(null, 'run')")
    assert run.ledger.one("select emq.ledger_id()") != before
    run.lose()
    with pytest.raises(LeaseLost):
        write(roundabout)


def test_an_address_is_asked_about_once_and_then_each_commit_costs_none_more(
    run: Running, db: Database, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"

    def connect() -> psycopg.Connection[object]:
        connection = Traced.connect(db.dsn)
        connection.trace(trace)
        return connection

    engine = create_engine("postgresql+psycopg://", creator=connect)
    for n in range(3):
        with engine.begin() as connection:
            connection.execute(WRITE, {"n": n})
    with engine.begin() as connection:
        connection.execute(text("select count(*) from effect"))
    with engine.begin():
        pass
    engine.dispose()
    sent = statements(trace)
    assert sum("pg_postmaster_start_time" in one for one in sent) == 1
    for first in [k for k, one in enumerate(sent) if one.startswith("insert")][1:]:
        assert sent[first + 1].startswith(GUARD)
        assert sent[first + 1].endswith("; commit")
        assert sent[first + 2] == "BEGIN"
    (reading,) = [k for k, one in enumerate(sent) if one.startswith("select count")]
    assert sent[reading + 1].startswith(GUARD)
    assert sent[reading + 1].endswith("; commit")
    assert sent[reading + 2 :] == []  # of the empty transaction nothing at all


def test_what_is_known_of_an_address_is_asked_anew_after_a_while(
    run: Running, elsewhere: Engine, empty_db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may lead to another server by then: here the ledger comes to the second database."""
    monkeypatch.setattr(ledgers, "KNOWN_FOR", 0.0)
    write(elsewhere)
    home = run.ledger.one("select ledger_id from emq.meta")
    with empty_db.connect() as connection:
        steps.upgrade(connection, schema="emq")
        connection.execute("update emq.meta set ledger_id = %s", [home])
    with pytest.raises(LeaseLost):  # the job is not there
        write(elsewhere)


def test_it_is_where_the_workers_own_engine_leads_by_now(
    run: Running, engine: Engine, elsewhere: Engine, empty_db: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Its address is given to another server, whose ledger has another id."""
    monkeypatch.setattr(ledgers, "KNOWN_FOR", 0.0)
    dsns = [run.ledger.conn.info.dsn]
    home = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(dsns[-1]))
    DatabaseEffects("emq", home).begin(run.lease, run.refused.append, guard=True)
    write(engine)
    write(elsewhere)
    with empty_db.connect() as connection:
        steps.upgrade(connection, schema="emq")
    write(elsewhere)
    dsns.append(empty_db.dsn)
    with pytest.raises(LeaseLost):  # the job is not there
        write(elsewhere)
    assert count(elsewhere) == 2


def test_without_an_engine_every_ledger_in_its_schema_is_taken_for_it(
    run: Running, engine: Engine, elsewhere: Engine
) -> None:
    DatabaseEffects("emq").begin(run.lease, run.refused.append, guard=True)
    write(engine)
    run.lose()
    with pytest.raises(LeaseLost):
        write(engine)
    write(elsewhere)
    run.ledger.run("drop function emq.guard_commit")
    DatabaseEffects("emq").begin(run.lease, run.refused.append, guard=True)
    with pytest.raises(CannotGuard, match="schema upgrade"):
        write(engine)


@pytest.fixture
def role(run: Running, db: Database) -> Iterator[str]:
    """An application's own role, which may write and has none of the ledger's roles."""
    name = f"emq_app_{secrets.token_hex(4)}"
    run.ledger.run(f"create role {name} login")
    run.ledger.run(f"grant select, insert on effect to {name}")
    yield name
    with db.connect() as connection:
        connection.execute(sql.SQL("drop owned by {}").format(sql.Identifier(name)))
        connection.execute(sql.SQL("drop role {}").format(sql.Identifier(name)))


@pytest.fixture
def as_role(role: str, db: Database) -> Iterator[Engine]:
    engine = create_engine(
        sqlalchemy_url(db.dsn), connect_args={"user": role}, pool_size=1, max_overflow=0
    )
    yield engine
    engine.dispose()


def test_a_role_that_may_not_ask_is_refused_by_name_until_it_may(
    run: Running, role: str, as_role: Engine
) -> None:
    for _ in range(2):
        with pytest.raises(CannotGuard, match=f'"{role}".*EMQ204'):
            write(as_role)
        assert count(as_role) == 0
    run.ledger.run(f"grant usage on schema emq to {role}")
    run.ledger.run(f"grant execute on function emq.guard_commit, emq.ledger_id to {role}")
    write(as_role)
    assert run.written() == [1]
    assert run.refused == []


def test_a_role_that_may_not_ask_may_read(run: Running, as_role: Engine) -> None:
    with as_role.begin() as connection:
        connection.execute(text("select * from effect"))


def test_a_role_that_may_not_ask_any_more_is_refused_by_name(
    run: Running, role: str, as_role: Engine
) -> None:
    run.ledger.run(f"grant usage on schema emq to {role}")
    run.ledger.run(f"grant execute on function emq.guard_commit, emq.ledger_id to {role}")
    write(as_role)
    run.ledger.run(f"revoke execute on function emq.guard_commit from {role}")
    for _ in range(2):
        with pytest.raises(CannotGuard, match="emq_producer"):
            write(as_role)
        assert count(as_role) == 1


def test_another_ledger_that_a_role_may_not_ask_is_left_alone(
    run: Running, role: str, elsewhere: Engine, empty_db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever of the rights it lacks."""
    monkeypatch.setattr(ledgers, "KNOWN_FOR", 0.0)
    there = Ledger(empty_db.connect())
    steps.upgrade(there.conn, schema="emq")
    there.run(f"grant select, insert on effect to {role}")
    run.lose()
    as_role = create_engine(sqlalchemy_url(empty_db.dsn), connect_args={"user": role})
    rights = ("usage on schema emq", "execute on function emq.guard_commit, emq.ledger_id")
    write(as_role)
    for right in rights:
        there.run(f"grant {right} to {role}")
        write(as_role)
        there.run(f"revoke {right} from {role}")
    as_role.dispose()
    assert count(elsewhere) == 3
    there.run(f"drop owned by {role}")


def test_a_ledger_that_has_lost_its_guard_is_refused_at_the_first_commit_too(
    run: Running, engine: Engine
) -> None:
    run.ledger.run("drop function emq.guard_commit")
    for _ in range(2):
        with pytest.raises(CannotGuard, match="schema upgrade"):
            write(engine)
    run.ledger.run("drop function emq.guard")
    with pytest.raises(CannotGuard, match="schema upgrade"):
        write(engine)
    assert run.written() == []


def test_no_connection_of_the_pool_is_taken_to_recognise_it(run: Running, engine: Engine) -> None:
    """The handler that commits may have the only one."""
    DatabaseEffects("emq", engine).begin(run.lease, run.refused.append, guard=True)
    write(engine)
    assert run.written() == [1]


def test_the_look_never_fails(empty_db: Database, db: Database, ledger: Ledger) -> None:
    """Not in a schema that this role may not see, not with names of its own before those of the
    system.
    """
    role = f"emq_app_{secrets.token_hex(4)}"
    ledger.run(f"create role {role} login")
    try:
        with empty_db.connect(user=role) as stranger, db.connect(user=role) as nobody:
            for connection, standing in ((stranger, "none"), (nobody, "closed")):
                connection.execute("set search_path = pg_temp, public, pg_catalog")
                connection.execute("create temp table pg_proc (nothing int)")
                connection.execute("create temp table pg_namespace (nothing int)")
                home = Ledgers("emq")
                sight = guarding.look(asked_in(connection), "emq")
                assert sight.standing == standing
                assert sight.role == role
                assert home.held_at("x", asked_in(connection)) is False
                connection.execute("discard temp")
    finally:
        ledger.run(f"drop role {role}")
