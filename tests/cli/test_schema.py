"""emq schema: up, down, where it is, the roles, and the same as SQL to read first."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from psycopg import sql

from emq_sql.protocol import steps
from tests.cli.conftest import Emq
from tests.integrations.catalog import catalog
from tests.plugins.databases import Database


@pytest.fixture
def bare(empty_db: Database) -> Emq:
    """The command on a database with nothing in it."""
    return Emq(empty_db.dsn)


def test_upgrade_and_downgrade_step_by_step_and_say_where_they_are(
    bare: Emq, empty_db: Database
) -> None:
    newest = steps.newest()
    assert bare("schema", "current").lines == [f"emq: not installed (this emq works with {newest})"]
    assert bare("schema", "upgrade", "--to", "1").lines == ["emq: applied [1], now at 1"]
    told = bare("schema", "upgrade", "--json").json
    assert told == {
        "schema": "emq", "applied": list(range(2, newest + 1)), "version": newest,
    }  # fmt: skip
    assert bare("schema", "upgrade").lines == [f"emq: nothing to do, now at {newest}"]
    told = bare("schema", "current", "--json").json
    assert told == {"schema": "emq", "version": newest, "newest": newest}
    assert bare("schema", "downgrade", "--to", "1", "--json").json["version"] == 1
    assert bare("schema", "downgrade", "--to", "0").lines == ["emq: took back [1], now at 0"]
    assert bare("schema", "downgrade", "--to", "0").lines == ["emq: nothing to do, now at 0"]
    assert not any(catalog(empty_db.connect()).values())


def test_a_downgrade_that_would_lose_jobs_must_be_told_to(emq: Emq, empty_db: Database) -> None:
    emq("enqueue", "tidy")
    refused = emq("schema", "downgrade", "--to", "0").refused(1)
    assert "1 jobs would be lost" in refused
    assert emq("schema", "current", "--json").json["version"] == steps.newest()
    done = emq("schema", "downgrade", "--to", "0", "--discard-jobs", "--json").json
    assert done["version"] == 0
    assert emq("schema", "upgrade").code == 0


def test_the_printed_sql_does_the_same_and_needs_no_database(
    empty_db: Database, db: Database
) -> None:
    offline = Emq(None)
    conn = empty_db.connect()
    conn.execute(offline("schema", "upgrade", "--sql").out.encode())
    assert catalog(conn) == catalog(db.connect())
    conn.execute(offline("schema", "downgrade", "--to", "0", "--sql").out.encode())
    assert not any(catalog(conn).values())
    conn.execute(
        offline("schema", "upgrade", "--sql", "--schema", "jobs", "--to", "1").out.encode()
    )
    second = offline("schema", "upgrade", "--sql", "--schema", "jobs", "--from", "1")
    conn.execute(second.out.encode())
    assert steps.current(conn, schema="jobs") == steps.newest()


def test_the_roles_are_made_and_may_be_made_again(emq: Emq, db: Database, role_prefix: str) -> None:
    names = [f"{role_prefix}_{what}" for what in ("producer", "worker", "operator", "reader")]
    offline = Emq(None)("schema", "roles", "--sql", "--prefix", role_prefix).out
    assert all(name in offline for name in names)
    for _ in range(2):
        told = emq("schema", "roles", "--prefix", role_prefix).lines
        assert told == [f"emq: {', '.join(names)}"]
    producer = Emq(f"{db.dsn}&options=-c%20role%3D{names[0]}")
    assert producer("enqueue", "tidy", "--json").json["status"] == "enqueued"
    assert "ermission denied" in producer("ledger").refused(1)
    reader = Emq(f"{db.dsn}&options=-c%20role%3D{names[3]}")
    assert reader("ledger").code == 0
    assert "ermission denied" in reader("enqueue", "tidy").refused(1)


@pytest.fixture
def role_prefix(db: Database) -> Iterator[str]:
    """Roles belong to the whole server: those of this prefix go with the test."""
    prefix = f"r{db.name[-8:]}"
    yield prefix
    conn = db.connect()
    for what in ("producer", "worker", "operator", "reader"):
        name = sql.Identifier(f"{prefix}_{what}")
        conn.execute(sql.SQL("drop owned by {}").format(name))
        conn.execute(sql.SQL("drop role {}").format(name))


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["upgrade", "--to", "99"], 1),
        (["upgrade", "--to", "-1", "--sql"], 1),
        (["upgrade", "--from", "2", "--to", "0", "--sql"], 1),
        (["downgrade", "--from", "0", "--to", "2", "--sql"], 1),
        (["downgrade", "--to", "-1"], 1),
        (["upgrade", "--schema", "public"], 2),
        (["upgrade", "--schema", "a;b", "--sql"], 2),
        (["roles", "--prefix", "pg_x", "--sql"], 2),
        (["roles", "--prefix", "x'; drop"], 2),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_what_leads_nowhere_is_refused(emq: Emq, db: Database, words: list[str], code: int) -> None:
    emq("schema", *words).refused(code)
    assert steps.current(db.connect()) == steps.newest()


def test_from_without_sql_would_be_ignored_and_so_is_refused(emq: Emq) -> None:
    assert "--from goes with --sql" in emq("schema", "upgrade", "--from", "1").misused()
