"""The schema comes out the same whoever leads it there: Alembic online, Alembic --sql, or emq."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import Column, Integer, MetaData, Table, create_engine
from sqlalchemy.exc import DBAPIError

from emq_sql import EMQ
from emq_sql.errors import BadName, StepOutOfOrder
from emq_sql.integrations.alembic import downgrade_emq, include_name, upgrade_emq
from emq_sql.protocol import steps
from tests.integrations.an_app import ROOT, App, offline, our_config
from tests.integrations.catalog import catalog
from tests.plugins.databases import Database

NEWEST = steps.newest()
UP = f"upgrade_emq(op, from_version=0, to_version={NEWEST})"
DOWN = f"downgrade_emq(op, from_version={NEWEST}, to_version=0)"
ORDERS = "op.create_table('orders', sa.Column('id', sa.Integer, primary_key=True))"
WITHOUT_ORDERS = "op.drop_table('orders')"


def version(database: Database) -> int:
    return steps.current(database.connect())


def tables(database: Database, schema: str = "public") -> set[str]:
    rows = database.connect().execute(
        "select tablename from pg_tables where schemaname = %s", [schema]
    )
    return {name for (name,) in rows.fetchall()}


def test_our_own_history_leads_to_the_newest_step_and_back_to_nothing(
    empty_db: Database, db: Database
) -> None:
    config = our_config(empty_db.dsn)
    command.upgrade(config, "head")
    assert version(empty_db) == steps.newest()
    assert catalog(empty_db.connect()) == catalog(db.connect())
    command.downgrade(config, "base")
    assert not any(catalog(empty_db.connect()).values())
    assert tables(empty_db) == {"emq_alembic_version"}


def test_our_own_history_has_one_revision_for_each_step() -> None:
    script = ScriptDirectory.from_config(our_config("unused"))
    assert script.get_heads() == [f"{steps.newest():04d}"]
    assert sorted(revision.revision for revision in script.walk_revisions()) == [
        f"{step.number:04d}" for step in steps.all_steps()
    ]


def test_the_printed_sql_makes_the_same_schema_through_a_driver(
    empty_db: Database, db: Database
) -> None:
    output = io.StringIO()
    script = offline(our_config("unused", output), "head", output)
    conn = empty_db.connect()
    conn.execute(script.encode())
    assert catalog(conn) == catalog(db.connect())
    output = io.StringIO()
    back = offline(our_config("unused", output), f"{NEWEST:04d}:base", output, down=True)
    conn.execute(back.encode())
    assert not any(catalog(conn).values())


def test_the_command_reads_emq_dsn_and_needs_no_driver_in_the_url(empty_db: Database) -> None:
    def alembic(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "alembic", *words],
            cwd=ROOT, env=os.environ | env, capture_output=True, text=True, check=False,
        )  # fmt: skip

    done = alembic("upgrade", "head", EMQ_DSN=empty_db.dsn)
    assert done.returncode == 0, done.stderr
    assert version(empty_db) == steps.newest()


@pytest.mark.parametrize(
    "settings", ["", "dialect_opts={'paramstyle': 'named'}", "literal_binds=True"]
)
def test_an_apps_own_printed_sql_is_whole_whatever_its_env_says(
    empty_db: Database, db: Database, tmp_path: Path, settings: str
) -> None:
    app = App(tmp_path / "app", empty_db.dsn, settings)
    app.revision(1, UP, DOWN)
    output = io.StringIO()
    script = offline(app.config(output), "head", output)
    conn = empty_db.connect()
    conn.execute(script.encode())
    assert catalog(conn) == catalog(db.connect())


def test_an_app_has_one_head_with_our_steps_beside_its_own_tables(
    empty_db: Database, db: Database, tmp_path: Path
) -> None:
    app = App(tmp_path / "app", empty_db.dsn)
    app.revision(1, ORDERS, WITHOUT_ORDERS)
    app.revision(2, UP, DOWN)
    app.revision(3, "op.add_column('orders', sa.Column('note', sa.Text))", "pass")
    config = app.config()
    assert ScriptDirectory.from_config(config).get_heads() == ["r3"]
    command.upgrade(config, "head")
    assert tables(empty_db) == {"orders", "alembic_version"}
    assert catalog(empty_db.connect()) == catalog(db.connect())
    command.downgrade(config, "r1")
    assert tables(empty_db) == {"orders", "alembic_version"}
    assert version(empty_db) == 0


def test_a_revision_that_fails_leaves_nothing_of_ours(empty_db: Database, tmp_path: Path) -> None:
    app = App(tmp_path / "app", empty_db.dsn)
    app.revision(1, f"{UP}; op.execute('select 1 / 0')", "pass")
    with pytest.raises(DBAPIError, match="division by zero"):
        command.upgrade(app.config(), "head")
    assert not any(catalog(empty_db.connect()).values())


def test_a_revision_can_put_the_ledger_into_another_schema(
    empty_db: Database, tmp_path: Path
) -> None:
    app = App(tmp_path / "app", empty_db.dsn)
    app.revision(1, "upgrade_emq(op, 0, 2, schema='jobs')", "downgrade_emq(op, 2, 0, 'jobs')")
    command.upgrade(app.config(), "head")
    assert steps.current(empty_db.connect(), schema="jobs") == 2
    assert version(empty_db) == 0
    command.downgrade(app.config(), "base")
    assert not any(catalog(empty_db.connect(), "jobs").values())


def test_a_downgrade_is_refused_while_jobs_would_be_lost(db: Database) -> None:
    config = our_config(db.dsn)
    command.upgrade(config, "head")
    emq = EMQ(db.dsn)
    emq.task(name="send")(print).enqueue()
    with pytest.raises(DBAPIError, match="1 jobs would be lost"):
        command.downgrade(config, "base")
    assert [queue["pending"] for queue in emq.queues()] == [1]
    assert version(db) == steps.newest()


def test_emq_schema_upgrade_after_alembic_does_nothing_and_the_other_way_round(
    empty_db: Database, db: Database
) -> None:
    command.upgrade(our_config(empty_db.dsn), "head")
    conn = empty_db.connect()
    before = catalog(conn), _installed(conn)
    assert steps.upgrade(conn) == []
    assert (catalog(conn), _installed(conn)) == before

    conn = db.connect()
    before = catalog(conn), _installed(conn)
    command.upgrade(our_config(db.dsn), "head")
    assert (catalog(conn), _installed(conn)) == before


def test_a_step_that_would_leave_a_gap_is_refused_by_the_database(
    empty_db: Database, tmp_path: Path
) -> None:
    app = App(tmp_path / "app", empty_db.dsn)
    app.revision(1, "upgrade_emq(op, 1, 2)", "pass")
    with pytest.raises(DBAPIError, match="would leave a gap"):
        command.upgrade(app.config(), "head")


def _installed(conn: psycopg.Connection[Any]) -> tuple[Any, ...]:
    row = conn.execute("select ledger_id, installed_at, upgraded_at from emq.meta").fetchone()
    assert row is not None
    return row


def proposals(database: Database, **settings: Any) -> list[Any]:
    """What autogenerate would write for an app whose one table is in place."""
    metadata = MetaData()
    Table("orders", metadata, Column("id", Integer, primary_key=True))
    engine = create_engine(database.dsn.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connection:
        metadata.create_all(connection)
        context = MigrationContext.configure(connection, opts=settings)
        found = compare_metadata(context, metadata)
    engine.dispose()
    return found


def test_autogenerate_sees_nothing_of_ours(db: Database) -> None:
    assert proposals(db) == []
    # Without the filter it would drop the ledger: this is what the filter is for.
    assert proposals(db, include_schemas=True) != []
    assert proposals(db, include_schemas=True, include_name=include_name()) == []


def test_the_command_that_autogenerates_writes_an_empty_revision(
    db: Database, tmp_path: Path
) -> None:
    app = App(tmp_path / "app", db.dsn, "include_schemas=True, include_name=include_name()")
    app.revision(1, ORDERS, WITHOUT_ORDERS)
    command.upgrade(app.config(), "head")
    made = command.revision(app.config(), "more", autogenerate=True)
    assert made is not None and not isinstance(made, list)
    text = Path(made.path).read_text()
    assert "drop" not in text and "emq" not in text


def test_the_filter_keeps_what_the_app_itself_leaves_out(db: Database) -> None:
    db.connect().execute("create table legacy (id int); create table added (id int)")

    def ours(name: str | None, kind: str, parents: Any) -> bool:
        return not (kind == "table" and name == "legacy")

    found = proposals(db, include_schemas=True, include_name=include_name(ours))
    assert [(what[0], what[1].name) for what in found] == [("remove_table", "added")]


def test_the_filter_follows_the_name_of_the_schema() -> None:
    both = include_name(schema="jobs")
    assert not both("jobs", "schema", {})
    assert both("emq", "schema", {})
    assert both(None, "schema", {})
    with pytest.raises(BadName):
        include_name(schema="No")


def test_numbers_that_lead_the_wrong_way_are_refused_before_anything_runs() -> None:
    printed = io.StringIO()
    opts = {"as_sql": True, "output_buffer": printed}
    op = Operations(MigrationContext.configure(dialect_name="postgresql", opts=opts))
    with pytest.raises(StepOutOfOrder, match="downgrade_emq"):
        upgrade_emq(op, 2, 0)
    with pytest.raises(StepOutOfOrder, match="upgrade_emq"):
        downgrade_emq(op, 0, 2)
    with pytest.raises(StepOutOfOrder, match="no schema version 99"):
        upgrade_emq(op, 0, 99)
    with pytest.raises(BadName):
        upgrade_emq(op, 0, 1, schema="Robert'); drop")
    assert printed.getvalue() == ""
    upgrade_emq(op, 0, 1)
    assert "create schema emq;" in printed.getvalue()


def test_our_configuration_needs_a_database_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EMQ_DSN", raising=False)
    with pytest.raises(ValueError, match="No database is set"):
        command.current(Config(str(ROOT / "alembic.ini"), stdout=io.StringIO()))
