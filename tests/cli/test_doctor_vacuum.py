"""doctor tells whether vacuum comes to the hot tables, and who holds it up."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from emq_sql.upkeep import vacuum
from tests.cli.conftest import Emq
from tests.plugins.databases import Database


def found(emq: Emq, subject: str) -> dict[str, str]:
    (one,) = (f for f in json.loads(emq("doctor", "--json").out) if f["subject"] == subject)
    return dict(one)


def test_dead_rows_and_the_last_vacuum_are_told_for_each_hot_table(
    emq: Emq, reader: psycopg.Connection[Any]
) -> None:
    reader.execute("vacuum emq.pending")
    reader.execute("select pg_stat_force_next_flush()")
    told = found(emq, "vacuum")
    assert told["state"] == "ok"
    for table in ("active", "pending", "scheduled"):
        assert f"{table}: 0 dead of 0 rows" in told["found"]
    assert "pending: 0 dead of 0 rows, vacuumed" in told["found"]
    assert "active: 0 dead of 0 rows, never vacuumed" in told["found"]


def test_who_holds_vacuum_up_is_named_with_what_ends_it(
    reader: psycopg.Connection[Any], db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vacuum, "LONG", 0.0)
    forgotten = db.connect(autocommit=False, options="-c application_name=notebook")
    forgotten.execute("set transaction isolation level repeatable read")
    forgotten.execute("select 1")
    _, told = vacuum.examine(reader, "emq")
    pid = forgotten.info.backend_pid
    assert told.state == "warn"
    assert f"session {pid} (notebook of " in told.found
    assert f"pg_terminate_backend({pid})" in told.advice
    forgotten.rollback()
    _, told = vacuum.examine(reader, "emq")
    assert f"session {pid}" not in told.found


def test_a_young_snapshot_is_named_and_no_warning(
    reader: psycopg.Connection[Any], db: Database
) -> None:
    other = db.connect(autocommit=False)
    other.execute("create table written (n int)")
    _, told = vacuum.examine(reader, "emq")
    assert told.state == "ok"
    assert f"session {other.info.backend_pid} " in told.found


def test_more_dead_rows_than_live_ones_are_a_warning_that_says_whose_fault_it_is(
    reader: psycopg.Connection[Any], db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vacuum, "MANY_DEAD", 100)
    reader.execute("alter table emq.pending set (autovacuum_enabled = off)")
    reader.execute("""select emq.enqueue_many('default', array(select emq.uuid7() from
        generate_series(1, 200)), array_fill('t'::text, array[200]),
        array_fill('{}'::jsonb, array[200]))""")
    reader.execute("select count(*) from emq.claim('default', 200, 'w', 1, interval '60 s')")
    reader.execute("select pg_stat_force_next_flush()")
    told, _ = vacuum.examine(reader, "emq")
    assert told.state == "warn"
    assert "pending: 200 dead of 200 rows, never vacuumed" in told.found
    assert "Autovacuum does not come" in told.advice
    monkeypatch.setattr(vacuum, "LONG", 0.0)
    forgotten = db.connect(autocommit=False)
    forgotten.execute("set transaction isolation level repeatable read")
    forgotten.execute("select 1")
    told, _ = vacuum.examine(reader, "emq")
    assert told.advice == "See oldest snapshot."
