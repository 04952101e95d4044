"""What the fixtures promise to every other test."""

from __future__ import annotations

import psycopg
import pytest

from tests.plugins.databases import Database, scratch, url
from tests.plugins.running import PgServer


def test_the_server_is_one_that_we_support(pg_server: PgServer) -> None:
    with psycopg.connect(pg_server.dsn) as connection:
        assert connection.info.server_version // 10000 == pg_server.major >= 15


def test_a_test_gets_a_database_of_its_own(pg_server: PgServer, empty_db: Database) -> None:
    (name,) = empty_db.connect().execute("select current_database()").fetchone() or ()
    assert name == empty_db.name
    with scratch(pg_server) as other:
        empty_db.connect().execute("create table mine ()")
        (seen,) = other.connect().execute("select to_regclass('mine')").fetchone() or ()
        assert seen is None


def test_a_database_is_dropped_under_open_sessions_and_prepared_transactions(
    pg_server: PgServer,
) -> None:
    with scratch(pg_server) as database:
        busy = psycopg.connect(database.dsn)
        busy.execute("create table held ()")
        prepared = database.connect()
        prepared.execute("begin; create table kept (); prepare transaction 'kept'")
    with pytest.raises(psycopg.OperationalError):
        busy.execute("select 1")
    busy.close()
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(database.dsn)


@pytest.mark.parametrize(
    ("dsn", "expected"),
    [
        (
            "postgresql://postgres@/postgres?host=/tmp/emq-x&port=5432",
            "postgresql://postgres@/new?host=/tmp/emq-x&port=5432",
        ),
        ("host=db user=ann password='p w' dbname=old", "postgresql://ann:p%20w@/new?host=db"),
        ("postgresql://db.example:6432/old", "postgresql:///new?host=db.example&port=6432"),
    ],
)
def test_an_address_keeps_all_but_its_database(dsn: str, expected: str) -> None:
    assert url(dsn, "new") == expected
