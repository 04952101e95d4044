"""`emq cron` where there is no pg_cron; tests/cron has those where there is one."""

from __future__ import annotations

import psycopg
import pytest

from tests.cli.conftest import Emq
from tests.cron.clusters import found
from tests.plugins.databases import Database


@pytest.fixture(autouse=True)
def no_pg_cron(db: Database) -> None:
    with db.connect() as conn, pytest.raises(psycopg.errors.UndefinedObject):
        conn.execute("show cron.database_name")


@pytest.mark.parametrize("verb", ["install", "remove"])
def test_without_pg_cron_it_is_said_who_does_the_upkeep_instead(emq: Emq, verb: str) -> None:
    said = emq("cron", verb).refused(1)
    assert "no pg_cron loaded" in said and "shared_preload_libraries" in said
    assert "Workers do the upkeep" in said and "`emq maintain`" in said


def test_status_has_an_exit_code_of_its_own_for_that(emq: Emq) -> None:
    assert "no pg_cron loaded" in emq("cron", "status").refused(3)


def test_a_database_without_pg_cron_that_was_named_is_told(emq: Emq, db: Database) -> None:
    said = emq("cron", "install", "--cron-dsn", db.dsn).refused(1)
    assert f'not created in the database "{db.name}"' in said


def test_the_doctor_takes_it_as_it_is(emq: Emq) -> None:
    told = emq("doctor", "--json")
    assert told.code == 0
    assert found(told.out, "pg_cron")["state"] == "ok"
    assert found(told.out, "pg_cron")["found"].startswith("not used: ")
    assert "let pg_cron do it" in found(told.out, "last reap")["advice"]


@pytest.mark.parametrize("every", ["60", "*/5 * * * * *"])
def test_an_interval_that_pg_cron_does_not_have_is_refused(emq: Emq, every: str) -> None:
    assert "--every" in emq("cron", "install", "--every", every).misused()
