"""A command that cannot do its work says why in one sentence, and its exit code says so too."""

from __future__ import annotations

import socket
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from emq_sql.minting import new_id
from tests.cli.conftest import Emq
from tests.plugins.databases import Database, url
from tests.plugins.running import PgServer

ID = str(new_id())
COMMANDS = [
    ["enqueue", "tidy"],
    ["ledger"],
    ["queues"],
    ["job", ID],
    ["reap"],
    ["pause", "mail"],
    ["resume", "mail"],
    ["doctor"],
    ["refusals"],
    ["schema", "upgrade"],
    ["schema", "downgrade", "--to", "0"],
    ["schema", "current"],
    ["schema", "roles"],
]
NEED_THE_LEDGER = [words for words in COMMANDS if words[0] not in ("schema", "doctor")]


def named(words: list[str]) -> str:
    return " ".join(words).replace(ID, "ID")


@pytest.mark.parametrize("words", COMMANDS[::2], ids=named)
def test_without_a_database_a_command_says_where_to_name_one(words: list[str]) -> None:
    assert "Give --dsn or set EMQ_DSN" in Emq(None)(*words).refused(2)


@pytest.mark.parametrize("words", NEED_THE_LEDGER, ids=named)
def test_without_the_ledger_each_command_says_how_to_install_it(
    empty_db: Database, words: list[str]
) -> None:
    assert "emq schema upgrade" in Emq(empty_db.dsn)(*words).refused(1)


@pytest.mark.parametrize(
    "dsn", ["nonsense", "mysql://u:hush@h/d", "host=a password='hush", "postgresql+psycopg2://h/d"]
)
def test_a_dsn_that_is_none_is_refused_and_not_quoted(dsn: str) -> None:
    assert "hush" not in Emq(None)("queues", "--dsn", dsn).refused(2)


def test_an_option_that_libpq_does_not_know_is_refused(db: Database) -> None:
    assert "nonsense" in Emq(f"{db.dsn}&nonsense=1")("queues").refused(1)


def test_a_server_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    for dsn in (f"postgresql://u@127.0.0.1:{port}/d", f"host={tmp_path} dbname=d user=u"):
        assert "No connection was made" in Emq(dsn)("queues").refused(1)


def test_a_database_that_is_not_there_is_said_so(pg_server: PgServer) -> None:
    told = Emq(url(pg_server.dsn, "no_such_database"))("ledger").refused(1)
    assert "no_such_database" in told


@pytest.mark.parametrize("words", [["enqueue", "tidy"], ["ledger"], ["reap"]], ids=named)
def test_a_role_without_rights_is_told_about_the_roles(
    db: Database, stranger: str, words: list[str]
) -> None:
    told = Emq(f"{db.dsn}&options=-c%20role%3D{stranger}")(*words).refused(1)
    assert "emq schema roles" in told


def test_a_role_that_may_not_create_is_refused_by_the_server(
    empty_db: Database, stranger: str
) -> None:
    as_stranger = Emq(f"{empty_db.dsn}&options=-c%20role%3D{stranger}")
    assert "ermission denied" in as_stranger("schema", "upgrade").refused(1)


@pytest.fixture(scope="module")
def stranger(pg_server: PgServer) -> str:
    """A role that has no rights at all; roles belong to the whole server."""
    name = "emq_test_stranger"
    with psycopg.connect(pg_server.dsn, autocommit=True) as conn:
        # Two processes of a parallel run may come at once.
        conn.execute("select pg_advisory_lock(hashtext('emq_test_stranger'))")
        there = conn.execute("select from pg_roles where rolname = %s", [name]).fetchone()
        if there is None:
            conn.execute(sql.SQL("create role {} nologin").format(sql.Identifier(name)))
    return name


@pytest.mark.parametrize(
    "words",
    [["nothing"], ["queues", "--nothing"], ["schema", "sideways"],
     ["schema", "downgrade"], ["enqueue"], ["pause"], ["schema", "upgrade", "--to", "x"]],
    ids=named,
)  # fmt: skip
def test_wrong_words_are_answered_with_the_usage(words: list[str]) -> None:
    assert Emq(None)(*words).misused().startswith("Error: ")


@pytest.mark.parametrize("every", ["0", "nan"])
def test_a_watch_needs_a_pause_between_two_looks(db: Database, every: str) -> None:
    assert "--every" in Emq(db.dsn)("ledger", "--watch", "--every", every).refused(2)


@pytest.mark.parametrize("words", [["ledger"], ["schema"], ["schema", "upgrade"]], ids=named)
def test_help_needs_no_database(words: list[str]) -> None:
    assert Emq(None)(*words, "--help").lines[0].startswith(f"Usage: emq {' '.join(words)} ")
