"""The numbered steps: up and down again, in order, once each, whoever runs them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from emq_sql.embedded import find
from emq_sql.errors import BadName, JobsWouldBeLost, Refused, StepOutOfOrder
from emq_sql.protocol import steps
from tests.plugins.databases import Database
from tests.plugins.running import PgServer
from tests.protocol.calls import Ledger, refused
from tests.protocol.gap import Call

NEWEST = steps.newest()

CATALOG = """
select 'relation', c.relname::text, c.relkind::text, c.relacl::text, c.reloptions::text,
       (select string_agg(format('%%s %%s %%s %%s', a.attname, format_type(a.atttypid, a.atttypmod),
                                 a.attnotnull, pg_get_expr(d.adbin, d.adrelid)),
                          ', ' order by attnum)
          from pg_attribute a
          left join pg_attrdef d on (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
         where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)
  from pg_class c where c.relnamespace = to_regnamespace(%(schema)s)
union all
select 'constraint', conrelid::regclass::text, conname::text, pg_get_constraintdef(oid), null, null
  from pg_constraint where connamespace = to_regnamespace(%(schema)s)
union all
select 'index', tablename::text, indexname::text, indexdef, null, null
  from pg_indexes where schemaname = %(schema)s
union all
select 'function', p.oid::regprocedure::text, pg_get_functiondef(p.oid), p.proacl::text, null, null
  from pg_proc p where p.pronamespace = to_regnamespace(%(schema)s)
order by 1, 2, 3
"""


def catalog(conn: psycopg.Connection[Any], schema: str = "emq") -> list[tuple[Any, ...]]:
    """Everything that a schema holds, as the system catalogs tell it."""
    return conn.execute(CATALOG, {"schema": schema}).fetchall()


@pytest.fixture
def conn(empty_db: Database) -> psycopg.Connection[Any]:
    return empty_db.connect()


def test_up_goes_to_the_newest_step_and_a_repeat_does_nothing(
    conn: psycopg.Connection[Any],
) -> None:
    assert steps.current(conn) == 0
    assert steps.upgrade(conn) == list(range(1, NEWEST + 1))
    assert steps.current(conn) == NEWEST
    made = catalog(conn)
    assert steps.upgrade(conn) == []
    for _, text in steps.path(0, NEWEST):
        conn.execute(text.encode())  # by hand, as Alembic would: a no-op at or above its number
    assert catalog(conn) == made


def test_up_down_and_up_again_makes_the_same(conn: psycopg.Connection[Any]) -> None:
    steps.upgrade(conn)
    made = catalog(conn)
    assert len(made) > 100
    assert steps.downgrade(conn, to=0) == list(range(NEWEST, 0, -1))
    assert catalog(conn) == []
    assert conn.execute("select to_regnamespace('emq')").fetchone() == (None,)
    steps.upgrade(conn)
    assert catalog(conn) == made


@pytest.mark.parametrize("version", range(1, NEWEST))
def test_each_version_in_between_can_be_had_from_both_sides(
    conn: psycopg.Connection[Any], version: int
) -> None:
    steps.upgrade(conn, to=version)
    assert steps.current(conn) == version
    from_below = catalog(conn)
    steps.upgrade(conn)
    assert steps.downgrade(conn, to=version) == list(range(NEWEST, version, -1))
    assert catalog(conn) == from_below


def test_a_gap_is_refused_whoever_runs_the_step(conn: psycopg.Connection[Any]) -> None:
    with refused("EQ004", hint="emq schema upgrade"):
        conn.execute(steps.render(steps.all_steps()[1], "up").encode())
    assert catalog(conn) == []


def test_a_step_that_is_not_the_newest_is_not_taken_back(conn: psycopg.Connection[Any]) -> None:
    steps.upgrade(conn)
    with refused("EQ004", hint="later steps first"):
        conn.execute(steps.render(steps.all_steps()[0], "down").encode())
    assert steps.current(conn) == NEWEST


def test_an_unknown_version_is_refused(conn: psycopg.Connection[Any]) -> None:
    with pytest.raises(StepOutOfOrder):
        steps.upgrade(conn, to=NEWEST + 1)


@pytest.mark.parametrize("name", ["Emq", "pg_x", "x; drop table y", "", "emq.x"])
def test_a_schema_name_outside_the_grammar_is_refused(
    conn: psycopg.Connection[Any], name: str
) -> None:
    with pytest.raises(BadName):
        steps.upgrade(conn, schema=name)


def test_two_upgrades_at_once_apply_each_step_once(empty_db: Database) -> None:
    first, second = empty_db.connect(autocommit=False), empty_db.connect()
    first.execute(steps.render(steps.all_steps()[0], "up").encode())
    waiting = Call(lambda: steps.upgrade(second))
    watch = Ledger(empty_db.connect())
    watch.wait(
        "exists (select from pg_locks where pid = %s and locktype = 'advisory' and not granted)",
        second.info.backend_pid,
    )
    first.commit()
    waiting.result()
    assert steps.current(second) == NEWEST
    assert second.execute("select count(*) from emq.meta").fetchone() == (1,)


def test_a_step_that_fails_leaves_nothing_behind(conn: psycopg.Connection[Any]) -> None:
    broken = steps.render(steps.all_steps()[0], "up").replace(
        "select emq.archive_days(3);", "select 1 / 0;"
    )
    with refused("22012"):
        conn.execute(broken.encode())
    assert catalog(conn) == []


def test_a_downgrade_that_would_lose_jobs_is_refused_unless_it_is_said(
    conn: psycopg.Connection[Any],
) -> None:
    steps.upgrade(conn)
    ledger = Ledger(conn)
    id = ledger.add_one()
    with pytest.raises(JobsWouldBeLost, match="1 jobs would be lost"):
        steps.downgrade(conn, to=0)
    assert steps.current(conn) == NEWEST
    assert ledger.take().id == id
    assert steps.downgrade(conn, to=0, discard_jobs=True) == list(range(NEWEST, 0, -1))
    assert steps.current(conn) == 0


def test_the_word_that_discards_jobs_does_not_outlive_its_call(
    conn: psycopg.Connection[Any],
) -> None:
    for _ in range(2):
        steps.upgrade(conn)
        Ledger(conn).add()
        with pytest.raises(JobsWouldBeLost):
            steps.downgrade(conn, to=0)
        steps.downgrade(conn, to=0, discard_jobs=True)


def test_a_job_that_comes_in_during_the_downgrade_waits_and_is_not_swallowed(
    empty_db: Database,
) -> None:
    downgrading, producer = empty_db.connect(autocommit=False), Ledger(empty_db.connect())
    steps.upgrade(downgrading)
    downgrading.commit()
    with downgrading.transaction(force_rollback=True):
        steps.downgrade(downgrading, to=0)
        producer.run("set lock_timeout = '50ms'")
        with pytest.raises(psycopg.Error):
            producer.add()
    downgrading.rollback()
    producer.run("set lock_timeout = 0")
    assert producer.add_one()


@pytest.mark.parametrize(
    "foreign",
    ["create table emq.mine (x int)", "create view public.mine as select id from emq.job"],
)
def test_what_belongs_to_somebody_else_stops_a_downgrade_and_is_kept(
    conn: psycopg.Connection[Any], foreign: str
) -> None:
    steps.upgrade(conn)
    conn.execute(foreign.encode())
    with pytest.raises(Exception, match=r"depend"):
        steps.downgrade(conn, to=0)
    assert steps.current(conn) == NEWEST
    assert conn.execute("select to_regclass('emq.job') is not null").fetchone() == (True,)


def test_two_ledgers_in_one_database_do_not_know_of_each_other(empty_db: Database) -> None:
    conn = empty_db.connect()
    steps.upgrade(conn)
    steps.upgrade(conn, schema="billing")
    ours, theirs = (
        [tuple(str(v).replace(f"{schema}.", "emq.") for v in row) for row in catalog(conn, schema)]
        for schema in ("emq", "billing")
    )
    assert [row[:2] for row in ours] == [row[:2] for row in theirs]
    assert "emq." not in "".join(map(str, catalog(conn, "billing")))

    ledger = Ledger(conn)
    for n in range(20):  # the floors of one in the same session say nothing about the other's
        ledger.add()
        ledger.complete(*ledger.claim(10))
        ledger.rows("select billing.enqueue('default', 't', '{}')")
        if n % 2:
            ledger.rows("select billing.claim('default', 10, 'w', 1)")
    id = ledger.add_one()
    ledger.rows("select billing.claim('default', 10, 'w', 1)")
    assert ledger.one("select count(*) from billing.active") == 20
    assert ledger.take().id == id

    holder = Ledger(empty_db.connect(autocommit=False))
    assert holder.maintain()
    assert ledger.one("select ran from billing.maintain()")
    assert not ledger.maintain()
    holder.conn.rollback()
    assert steps.downgrade(conn, schema="billing", to=0, discard_jobs=True)
    assert ledger.start()


@pytest.fixture
def nobody(empty_db: Database) -> Iterator[str]:
    """A role that may log in, and nothing else."""
    role = f"{empty_db.name}_nobody"
    with empty_db.connect() as admin:
        admin.execute(f"create role {role} login".encode())
    yield role
    with empty_db.connect() as admin:
        admin.execute(f"reassign owned by {role} to current_user".encode())
        admin.execute(f"drop owned by {role}".encode())
        admin.execute(f"drop role {role}".encode())


def test_without_a_right_the_refusal_names_it_and_with_it_alone_the_ledger_works(
    conn: psycopg.Connection[Any], empty_db: Database, nobody: str
) -> None:
    """On a managed PostgreSQL nobody is a superuser."""
    with empty_db.connect(user=nobody) as theirs:
        with pytest.raises(Refused, match="needs CREATE on the database"):
            steps.upgrade(theirs)
        conn.execute(f"grant create on database {empty_db.name} to {nobody}".encode())
        assert steps.upgrade(theirs) == list(range(1, NEWEST + 1))
        with pytest.raises(Refused, match=r"needs CREATEROLE .* emq schema roles --sql"):
            steps.apply_roles(theirs, prefix=f"{nobody}_x"[-30:].lstrip("0123456789"))
        ledger = Ledger(theirs)
        ledger.add()
        assert ledger.maintain()
        assert ledger.complete(ledger.take()) == ["done"]
        with pytest.raises(JobsWouldBeLost, match="Finished ones count"):
            steps.downgrade(theirs, to=0)
        assert steps.downgrade(theirs, to=0, discard_jobs=True)


def test_a_schema_named_as_the_settings_of_an_extension_is_refused_at_once(
    conn: psycopg.Connection[Any],
) -> None:
    """The floors of claims are settings: the first claim would fail."""
    try:
        conn.execute("load 'auto_explain'")
    except psycopg.errors.UndefinedFile:
        pytest.skip("this PostgreSQL has no auto_explain")
    with pytest.raises(Refused, match="auto_explain"):
        steps.upgrade(conn, schema="auto_explain")
    assert steps.current(conn, schema="auto_explain") == 0


def test_a_script_runs_through_psql(
    pg_server: PgServer, empty_db: Database, tmp_path: Path
) -> None:
    psql = find("embedded" if pg_server.choice == "embedded" else "system").bindir / "psql"
    if not psql.is_file():
        pytest.skip(f"there is no {psql}")
    conn = empty_db.connect()
    for frm, to in ((0, NEWEST), (NEWEST, 0), (0, NEWEST)):
        script = tmp_path / f"{frm}_{to}.sql"
        script.write_text(steps.script(frm, to))
        done = subprocess.run(
            [psql, "-X", "-1", "-q", "-v", "ON_ERROR_STOP=1", "-f", script, empty_db.dsn],
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert steps.current(conn) == to
