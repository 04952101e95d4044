"""A real application beside the ledger: its own tables, its own command line, its replicas."""

from __future__ import annotations

import io
import shutil
import subprocess
from pathlib import Path

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from emq_sql import EMQ
from emq_sql.embedded import find
from emq_sql.integrations.alembic import one_at_a_time
from emq_sql.protocol import steps
from tests.integrations.an_app import App
from tests.integrations.catalog import catalog
from tests.plugins.databases import Database, scratch
from tests.plugins.running import PgServer
from tests.protocol.calls import Ledger
from tests.protocol.test_dump import dump_of

NEWEST = steps.newest()
UP = f"upgrade_emq(op, 0, {NEWEST})"
DOWN = f"downgrade_emq(op, {NEWEST}, 0)"
ORDERS = "op.create_table('orders', sa.Column('id', sa.Integer, primary_key=True))"
GATE = 990011
BOTH_SCHEMAS = """
include_schemas=True,
include_name=include_name(lambda name, kind, _: kind != 'schema' or name in (None, 'crm', 'emq'))
"""
CRM = 'Table("client", metadata, Column("id", Integer, primary_key=True), schema="crm")'


def test_autogenerate_writes_what_the_app_changed_in_its_schemas_and_nothing_of_ours(
    empty_db: Database, tmp_path: Path
) -> None:
    conn = empty_db.connect()
    conn.execute("create schema crm; create schema legacy; create table legacy.old (id int)")
    app = App(tmp_path / "app", empty_db.dsn, BOTH_SCHEMAS, CRM)
    app.revision(1, ORDERS, "op.drop_table('orders')")
    app.revision(2, UP, DOWN)
    app.run("upgrade", "head")
    before = catalog(conn)
    app.run("revision", "--autogenerate", "-m", "more")
    (written,) = (tmp_path / "app" / "versions").glob("*_more.py")
    text = written.read_text()
    body = text[text.index("def upgrade") : text.index("def downgrade")]
    assert body.count("op.") == 1
    assert "op.create_table('client'" in body and "schema='crm'" in body
    app.run("upgrade", "head")
    app.run("check")
    assert catalog(conn) == before
    assert ScriptDirectory.from_config(app.config()).get_heads() == [text.split("'")[1]]


def test_the_printed_history_through_psql_makes_what_the_revisions_make_online(
    pg_server: PgServer, empty_db: Database, tmp_path: Path
) -> None:
    app = App(tmp_path / "app", empty_db.dsn)
    app.revision(1, f"{ORDERS}; upgrade_emq(op, 0, 3)", "downgrade_emq(op, 3, 0)")
    app.revision(2, f"upgrade_emq(op, 3, {NEWEST})", f"downgrade_emq(op, {NEWEST}, 3)")
    app.run("upgrade", "head")
    with scratch(pg_server) as other:
        _psql(other, app.run("upgrade", "head", "--sql"), tmp_path)
        conn = other.connect()
        assert catalog(conn) == catalog(empty_db.connect())
        assert dump_of(other) == dump_of(empty_db)
        assert conn.execute("select version_num from alembic_version").fetchall() == [("r2",)]
        app.run("downgrade", "r1")
        _psql(other, app.run("downgrade", "r2:r1", "--sql"), tmp_path)
        assert steps.current(conn) == 3
        assert dump_of(other) == dump_of(empty_db)


def _psql(database: Database, script: str, folder: Path) -> None:
    beside = find("embedded").bindir / "psql"
    program = str(beside) if beside.is_file() else shutil.which("psql")
    if program is None:
        pytest.skip("There is no psql (Debian: apt-get install postgresql-client).")
    file = folder / "history.sql"
    file.write_text(script)
    done = subprocess.run(
        [program, "-Xq", "-v", "ON_ERROR_STOP=1", "-f", file, database.dsn],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_downgrade_through_the_apps_history_is_refused_while_jobs_would_be_lost(
    empty_db: Database, tmp_path: Path
) -> None:
    app = App(tmp_path / "app", empty_db.dsn)
    app.revision(1, ORDERS, "op.drop_table('orders')")
    app.revision(2, UP, DOWN)
    app.revision(3, "op.add_column('orders', sa.Column('note', sa.Text))",
                 "op.drop_column('orders', 'note')")  # fmt: skip
    app.run("upgrade", "head")
    emq = EMQ(empty_db.dsn)
    emq.task(name="send")(print).enqueue()
    before = catalog(empty_db.connect(), "public")
    with pytest.raises(DBAPIError, match="1 jobs would be lost"):
        command.downgrade(app.config(), "r1")
    # All of it is one transaction: the app's own revision was not taken back either.
    assert catalog(empty_db.connect(), "public") == before
    assert app.run("current").split() == ["r3", "(head)"]
    assert [queue["pending"] for queue in emq.queues()] == [1]


def test_a_revision_that_fails_half_way_leaves_the_history_where_it_was(
    empty_db: Database, tmp_path: Path
) -> None:
    app = App(tmp_path / "app", empty_db.dsn, "transaction_per_migration=True")
    app.revision(1, ORDERS, "op.drop_table('orders')")
    app.revision(2, "upgrade_emq(op, 0, 3)", "downgrade_emq(op, 3, 0)")
    app.revision(3, f"upgrade_emq(op, 3, {NEWEST}); op.execute('select 1 / 0')", "pass")
    with pytest.raises(DBAPIError, match="division by zero"):
        command.upgrade(app.config(), "head")
    conn = empty_db.connect()
    assert steps.current(conn) == 3
    assert app.run("current").split() == ["r2"]
    app.revision(3, f"upgrade_emq(op, 3, {NEWEST})", "pass")
    app.run("upgrade", "head")
    assert steps.current(conn) == NEWEST


@pytest.fixture
def gated(request: pytest.FixtureRequest, empty_db: Database, tmp_path: Path) -> App:
    """At its first revision; the second waits for the gate, the third makes an index beside."""
    app = App(tmp_path / "app", empty_db.dsn, in_turn=request.param)
    app.revision(1, ORDERS, "op.drop_table('orders')")
    app.run("upgrade", "head")
    app.revision(2, f"op.execute('select pg_advisory_xact_lock({GATE})'); {UP}", DOWN)
    if request.param:
        app.revision(3, "\n    ".join([
            "with op.get_context().autocommit_block():",
            "    op.create_index('i', 'orders', ['id'], postgresql_concurrently=True)",
        ]), "pass")  # fmt: skip
    return app


@pytest.mark.parametrize("gated", [True], indirect=True)
def test_replicas_that_start_at_the_same_time_migrate_once_and_all_start(
    empty_db: Database, gated: App
) -> None:
    watch = Ledger(empty_db.connect())
    watch.run(f"select pg_advisory_lock({GATE})")
    replicas = [gated.start("upgrade", "head", PGAPPNAME="replica 0")]
    watch.wait(_AT_THE_GATE, "replica 0")
    replicas += [gated.start("upgrade", "head", PGAPPNAME=f"replica {n}") for n in (1, 2)]
    for n in (1, 2):
        watch.wait(
            "exists (select from pg_stat_activity where application_name = %s"
            " and datname = current_database() and state = 'idle' and query ilike 'rollback')",
            f"replica {n}",
        )
    watch.run(f"select pg_advisory_unlock({GATE})")
    for replica in replicas:
        _, err = replica.communicate(timeout=60)
        assert replica.returncode == 0, err
    assert watch.one("select version from emq.meta") == NEWEST
    assert watch.rows("select version_num from alembic_version") == [("r3",)]
    assert watch.one("select indisvalid from pg_index where indexrelid = 'i'::regclass")
    assert watch.one(_ADVISORY_LOCKS) == 0


@pytest.mark.parametrize("gated", [False], indirect=True)
def test_without_taking_turns_the_second_replica_fails_and_harms_nothing(
    empty_db: Database, gated: App
) -> None:
    watch = Ledger(empty_db.connect())
    watch.run(f"select pg_advisory_lock({GATE})")
    replicas = [gated.start("upgrade", "head", PGAPPNAME=f"replica {n}") for n in (0, 1)]
    for n in (0, 1):
        watch.wait(_AT_THE_GATE, f"replica {n}")
    watch.run(f"select pg_advisory_unlock({GATE})")
    said = [replica.communicate(timeout=60)[1] for replica in replicas]
    assert sorted(replica.returncode for replica in replicas) == [0, 255], said
    assert watch.one("select version from emq.meta") == NEWEST
    assert watch.rows("select version_num from alembic_version") == [("r2",)]
    gated.run("upgrade", "head")


_ADVISORY_LOCKS = """
select count(*) from pg_locks l join pg_database d on d.oid = l.database
 where l.locktype = 'advisory' and d.datname = current_database()"""
_AT_THE_GATE = """exists (
    select from pg_locks l join pg_stat_activity a using (pid)
     where a.application_name = %s and a.datname = current_database()
       and l.locktype = 'advisory' and not l.granted)"""


def test_a_turn_ends_with_the_process_that_has_it(empty_db: Database, gated_dead: App) -> None:
    watch = Ledger(empty_db.connect())
    watch.run(f"select pg_advisory_lock({GATE})")
    killed = gated_dead.start("upgrade", "head", PGAPPNAME="killed")
    watch.wait(_AT_THE_GATE, "killed")
    killed.kill()
    killed.communicate(timeout=60)
    watch.run(f"select pg_advisory_unlock({GATE})")
    gated_dead.run("upgrade", "head")
    assert watch.one("select version from emq.meta") == NEWEST


@pytest.fixture
def gated_dead(empty_db: Database, tmp_path: Path) -> App:
    app = App(tmp_path / "app", empty_db.dsn, in_turn=True)
    app.revision(1, f"op.execute('select pg_advisory_xact_lock({GATE})'); {UP}", DOWN)
    return app


def test_a_turn_ends_with_a_revision_that_fails(empty_db: Database, tmp_path: Path) -> None:
    app = App(tmp_path / "app", empty_db.dsn, in_turn=True)
    app.revision(1, f"{UP}; op.execute('select 1 / 0')", "pass")
    failed = app.start("upgrade", "head")
    assert "division by zero" in failed.communicate(timeout=60)[1]
    assert failed.returncode != 0
    assert not any(catalog(empty_db.connect()).values())
    app.revision(1, UP, "pass")
    app.run("upgrade", "head")
    assert steps.current(empty_db.connect()) == NEWEST


def test_a_turn_ends_with_a_transaction_that_env_py_left_broken(empty_db: Database) -> None:
    engine = create_engine(empty_db.dsn.replace("postgresql:", "postgresql+psycopg:"))
    watch = Ledger(empty_db.connect())
    with engine.connect() as connection:
        with pytest.raises(DBAPIError, match="division by zero"), one_at_a_time(connection):
            assert watch.one(_ADVISORY_LOCKS) == 1
            connection.execute(text("select 1 / 0"))
        assert watch.one(_ADVISORY_LOCKS) == 0
    engine.dispose()


def test_our_revisions_can_be_a_branch_of_the_apps_history(
    empty_db: Database, db: Database, tmp_path: Path
) -> None:
    """The other way of docs/howto/alembic.md, with what it costs."""
    app = App(tmp_path / "app", empty_db.dsn)
    app.revision(1, ORDERS, "op.drop_table('orders')")
    config = app.config()
    own, ours = tmp_path / "app" / "versions", steps.migrations_folder() / "versions"
    config.set_main_option("path_separator", "os")
    config.set_main_option("version_locations", f"{own}:{ours}".replace("%", "%%"))
    script = ScriptDirectory.from_config(config)
    assert sorted(script.get_heads()) == [f"{NEWEST:04d}", "r1"]
    with pytest.raises(Exception, match="Multiple head revisions"):
        command.upgrade(config, "head")
    command.upgrade(config, "heads")
    assert catalog(empty_db.connect()) == catalog(db.connect())
    made = command.revision(config, "mine", head="r1", version_path=str(own))
    assert made is not None and not isinstance(made, list)
    assert Path(made.path).parent == own
    command.upgrade(config, "heads")
    command.downgrade(config, "base")
    assert not any(catalog(empty_db.connect()).values())


def test_a_revision_that_is_held_up_tries_again_and_one_that_must_not_wait_says_who_has_it(
    empty_db: Database, tmp_path: Path
) -> None:
    app = App(tmp_path / "app", empty_db.dsn, "transaction_per_migration=True")
    app.revision(1, "upgrade_emq(op, 0, 5)", "downgrade_emq(op, 5, 0)")
    app.revision(2, "upgrade_emq(op, 5, 6)", "downgrade_emq(op, 6, 5)")
    app.run("upgrade", "r1")
    holder = empty_db.connect(autocommit=False)
    holder.execute("insert into emq.inbox (key, id, fence) values ('k', gen_random_uuid(), 1)")
    hasty = app.start("upgrade", "head", PGOPTIONS="-c emq.step_patience=0")
    assert f"held by process {holder.info.backend_pid}" in hasty.communicate(timeout=60)[1]
    assert hasty.returncode != 0
    watch = Ledger(empty_db.connect())
    assert watch.rows("select version_num from alembic_version") == [("r1",)]
    patient = app.start("upgrade", "head")
    watch.wait(
        "exists (select from pg_stat_activity"
        " where datname = current_database() and wait_event = 'PgSleep')"
    )
    holder.commit()
    _, err = patient.communicate(timeout=60)
    assert patient.returncode == 0, err
    assert watch.one("select version from emq.meta") == 6


def test_the_printed_sql_bounds_how_long_it_waits_for_a_lock(tmp_path: Path) -> None:
    app = App(tmp_path / "app", "postgresql://unused/unused")
    app.revision(1, UP, DOWN)
    output = io.StringIO()
    command.upgrade(app.config(output), "head", sql=True)
    assert output.getvalue().count("set_config('lock_timeout', '500ms', true)") == NEWEST
