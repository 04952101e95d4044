"""What a DBA may set for a role or a database: workers live with it, and jobs settle."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from emq_sql import EMQ
from emq_sql.errors import Retryable
from tests.faults.forking import ForkedField, Nursery
from tests.faults.processes import wait_for
from tests.plugins.databases import Database
from tests.plugins.running import PgServer

NASTY = "200ms"


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    made = Nursery("tests.faults.jobs")
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def field(db: Database, nursery: Nursery, tmp_path: Path) -> Iterator[ForkedField]:
    made = ForkedField(db.dsn, tmp_path, db.connect())
    made.nursery = nursery
    try:
        yield made
    finally:
        made.close()


def set_for_all(field: ForkedField, **settings: str | None) -> None:
    """Settings of the database, for the sessions that begin from now on; None takes one away."""
    name = sql.Identifier(field.one("select current_database()"))
    for setting, value in settings.items():
        to = sql.SQL("reset {0}") if value is None else sql.SQL("set {0} = {1}")
        # Quoted as a whole, a list of schemas would be the name of one.
        values = map(sql.Literal, (value or "").split(", "))
        field.reader.execute(
            sql.SQL("alter database {} ").format(name)
            + to.format(sql.SQL(setting), sql.SQL(", ").join(values))
        )


def ends_in_order(worker: Any) -> bool:
    worker.send(signal.SIGTERM)
    return bool(worker.wait() == 0)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("statement_timeout", "statement timeout"),
        ("lock_timeout", "lock timeout"),
        ("transaction_timeout", "transaction timeout"),
        ("idle_session_timeout", "idle-session timeout"),
    ],
)
def test_timeouts_that_strike_the_workers_own_statements_cost_no_job_anything(
    field: ForkedField, pg_server: PgServer, setting: str, said: str
) -> None:
    if setting == "transaction_timeout" and pg_server.major < 17:
        pytest.skip("came with PostgreSQL 17")
    field.enqueue("c_sleep", 2, seconds=0.5)
    set_for_all(field, **{setting: NASTY})
    worker = field.start(lease=20, poll=0.5)
    field.until("select count(*) = 2 from emq.active")
    with psycopg.connect(field.dsn, options=f"-c {setting}=0") as somebody:
        # All that a worker says to the ledger waits for this, and is struck; an idle one is anyway.
        somebody.execute("lock table emq.active, emq.pending in access exclusive mode")
        wait_for(lambda: said in worker.said(), f"{setting} has struck", field)
    field.enqueue("plain", 20)
    field.until_archived(22)
    assert field.rows("select max(attempts), max(failures) from emq.archive") == [(1, 0)]
    assert field.one("select count(*) from emq.refusal") == 0
    assert ends_in_order(worker)


def test_a_timeout_for_idle_transactions_does_not_strike_a_worker_that_needs_transactions(
    field: ForkedField,
) -> None:
    set_for_all(
        field,
        idle_in_transaction_session_timeout="50ms",
        default_transaction_isolation="serializable",
    )
    field.enqueue("plain", 50)
    worker = field.start()
    field.until_archived(50)
    assert field.rows("select max(attempts), max(failures) from emq.archive") == [(1, 0)]
    assert "idle-in-transaction" not in worker.said()


def test_a_read_only_default_is_named_with_what_to_do_and_lifted_without_a_restart(
    field: ForkedField,
) -> None:
    jobs = field.enqueue("plain", 10)
    set_for_all(field, default_transaction_read_only="on")
    worker = field.start()
    wait_for(lambda: "EMQ401" in worker.said(), "the worker says why", field)
    assert "read-only by a setting of the transaction, role or database" in worker.said()
    emq = EMQ(field.dsn)
    plain = emq.task(name="plain")(lambda: None)
    with pytest.raises(Retryable, match="read-only by a setting"):
        plain.enqueue()
    set_for_all(field, default_transaction_read_only=None)
    field.until_archived(len(jobs))
    assert plain.enqueue().status == "enqueued"
    field.until_archived(len(jobs) + 1)
    emq.engine.dispose()
    assert ends_in_order(worker)


HOSTILE = """
create schema hostile;
create table hostile.active (id int);
create table hostile.pending (id int);
create table hostile.job (id int);
create type hostile.interval as enum ('no');
create function hostile.clock_timestamp() returns timestamptz language sql as
  $$ select 'infinity'::timestamptz $$;
create function hostile.now() returns timestamptz language sql as
  $$ select '-infinity'::timestamptz $$;
create function hostile.unnest(anyarray) returns setof anyelement language sql as
  $$ select $1[1] where false $$;
create function hostile.count(anyelement) returns bigint language sql as $$ select -1::bigint $$;
create function hostile.no(bigint, bigint) returns boolean language sql as $$ select false $$;
create operator hostile.= (leftarg = bigint, rightarg = bigint, function = hostile.no);
create operator hostile.< (leftarg = bigint, rightarg = bigint, function = hostile.no);
"""

ODD = {
    "formats": {
        "datestyle": "German",
        "intervalstyle": "sql_standard",
        "timezone": "Asia/Kathmandu",
        "extra_float_digits": "-15",
        "bytea_output": "escape",
        "xmloption": "document",
        "lc_messages": "C",
    },
    "other formats": {
        "datestyle": "SQL, DMY",
        "intervalstyle": "iso_8601",
        "timezone": "America/St_Johns",
        "quote_all_identifiers": "on",
    },
    "meanings": {
        "array_nulls": "off",
        "transform_null_equals": "on",
        "row_security": "off",
        "default_transaction_deferrable": "on",
        "default_transaction_isolation": "serializable",
        "synchronous_commit": "off",
        "check_function_bodies": "off",
        "session_replication_role": "replica",
    },
    "search_path": {"search_path": "hostile, pg_catalog, public"},
    "plans": {
        "plan_cache_mode": "force_custom_plan",
        "enable_indexscan": "off",
        "enable_nestloop": "off",
        "enable_sort": "off",
        "join_collapse_limit": "1",
        "geqo_threshold": "2",
        "work_mem": "64kB",
        "jit_above_cost": "0",
    },
    "strictness": {
        "plpgsql.variable_conflict": "error",
        "plpgsql.extra_errors": "strict_multi_assignment,too_many_rows",
        "client_min_messages": "debug1",
        "log_min_messages": "fatal",
        "check_function_bodies": "on",
    },
}


@pytest.mark.parametrize("settings", ODD.values(), ids=ODD.keys())
def test_odd_settings_of_a_database_change_nothing(
    field: ForkedField, settings: dict[str, str]
) -> None:
    field.reader.execute(HOSTILE.encode())
    set_for_all(field, **settings)
    field.enqueue("plain", 20)
    field.enqueue("own", 10, _lease=timedelta(seconds=6), _priority=0)
    field.enqueue("own_session", 5)
    field.enqueue("fails", 3, times=2)
    field.enqueue("plain", 3, _delay=timedelta(seconds=0.4))
    (held,) = field.enqueue("hold", _lease=timedelta(seconds=3))
    emq = EMQ(field.dsn)
    told = emq.task(name="plain")(lambda: None).using(delay=0.2).enqueue()
    worker = field.start(concurrency=6)
    field.until_archived(42)
    field.until("select count(*) = 1 from emq.active where extensions >= 3")
    (row,) = emq.ledger()
    assert row["id"] == held
    assert row["seconds_left"] <= 3
    field.until("select lease_deadline > clock_timestamp() from emq.active")
    field.let_go()
    field.until_archived(43)
    assert emq.place(told.id)["place"] == "completed"  # type: ignore[index]
    assert field.one("select max(stalled) from emq.archive") == 0
    assert field.one("select sum(failures) from emq.archive") == 6
    early = (
        "select count(*) from effect e join emq.job j on j.id = e.job where e.at < j.enqueued_at"
    )
    assert field.one(early) == 0
    assert field.one("select count(*) from emq.refusal") == 0
    emq.engine.dispose()
    assert ends_in_order(worker)
