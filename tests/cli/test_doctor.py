"""doctor looks and changes nothing; its exit code is 1 when something is bad, else 0."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from emq_sql.protocol import steps
from tests.cli.conftest import Emq, Holder, until_expired
from tests.plugins.databases import Database


def findings(emq: Emq, code: int) -> dict[str, dict[str, str]]:
    """What it found by subject, with this exit code."""
    told = emq("doctor", "--json")
    assert told.code == code, (told.out, told.err)
    return {found["subject"]: found for found in json.loads(told.out)}


def states(found: dict[str, dict[str, str]]) -> dict[str, str]:
    return {subject: finding["state"] for subject, finding in found.items()}


def test_all_is_well_where_somebody_reaps(emq: Emq, reader: psycopg.Connection[Any]) -> None:
    reader.execute(f'alter database "{reader.info.dbname}" set synchronous_commit = on')
    reader.execute("select emq.tag('production')")
    assert emq("reap").code == 0
    found = findings(emq, 0)
    assert set(states(found).values()) == {"ok"}
    assert {"client", "server", "clock", "schema", "places", "last reap"} <= set(found)
    assert f"version {steps.newest()}" in found["schema"]["found"]
    told = emq("doctor").lines
    assert told[0].split() == ["what", "found", "do"]
    assert all(line.startswith("ok ") for line in told[1:])


def test_what_should_be_looked_at_is_a_warning_and_no_failure(
    emq: Emq, reader: psycopg.Connection[Any]
) -> None:
    name = reader.info.dbname
    reader.execute(f'alter database "{name}" set default_transaction_isolation = serializable')
    reader.execute(f'alter database "{name}" set synchronous_commit = off')
    found = findings(emq, 0)
    warned = {subject for subject, state in states(found).items() if state == "warn"}
    assert warned == {"isolation", "durability", "home", "last reap"}
    assert all(found[subject]["advice"] for subject in warned)
    assert "Start a worker" in found["last reap"]["advice"]


def test_expired_leases_that_nobody_takes_back_are_bad(
    emq: Emq, hold: Callable[..., Holder], reader: psycopg.Connection[Any]
) -> None:
    emq("enqueue", "tidy")
    hold(lease=0.2).kill()
    until_expired(reader, 1)
    found = findings(emq, 1)
    assert states(found)["last reap"] == "bad"
    assert emq("reap").code == 0
    assert states(findings(emq, 0))["last reap"] == "ok"


def test_a_database_without_the_ledger_is_bad_and_says_what_to_run(empty_db: Database) -> None:
    found = findings(Emq(empty_db.dsn), 1)
    assert states(found)["schema"] == "bad"
    assert found["schema"]["advice"] == "Run: emq schema upgrade."
    assert "last reap" not in found


@pytest.mark.parametrize(
    ("version", "advice"), [("1", "Run: emq schema upgrade."), ("99", "Install a newer emq-sql.")]
)
def test_a_schema_of_another_version_is_bad(
    emq: Emq, reader: psycopg.Connection[Any], version: str, advice: str
) -> None:
    if version == "1":
        steps.downgrade(reader, to=1)
    else:
        reader.execute("update emq.meta set version = 99")
    found = findings(emq, 1)
    assert (states(found)["schema"], found["schema"]["advice"]) == ("bad", advice)


def test_a_job_that_is_in_no_place_is_bad(emq: Emq, reader: psycopg.Connection[Any]) -> None:
    emq("enqueue", "tidy")
    reader.execute("create temporary table kept as select * from emq.pending")
    reader.execute("delete from emq.pending")
    found = findings(emq, 1)
    assert states(found)["places"] == "bad"
    assert found["places"]["found"].startswith("1 ")
    reader.execute("insert into emq.pending select * from kept")
    assert states(findings(emq, 0))["places"] == "ok"
