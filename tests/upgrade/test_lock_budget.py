"""A step waits for a lock for a moment only, gives way, and tries again or says who has it."""

from __future__ import annotations

import os
from typing import Any

import psycopg
import pytest

from emq_sql.errors import Retryable
from emq_sql.protocol import steps
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger, refused
from tests.protocol.gap import Call

# Step 6 makes an index on emq.inbox, so a transaction that has written there is in its way.
STEP = steps.all_steps()[5]
IN_THE_WAY = "insert into emq.inbox (key, id, fence) values ('held', gen_random_uuid(), 1)"
WAITS = """exists (select from pg_locks where pid = %s and relation = 'emq.inbox'::regclass
                    and not granted)"""
PAUSES = "exists (select from pg_stat_activity where pid = %s and wait_event = 'PgSleep')"


@pytest.fixture
def at_five(empty_db: Database) -> Database:
    """A ledger at version 5."""
    steps.upgrade(empty_db.connect(), to=5)
    return empty_db


@pytest.fixture
def holder(at_five: Database) -> psycopg.Connection[Any]:
    """An open transaction that is in the way."""
    conn = at_five.connect(autocommit=False, application_name="the long report")
    conn.execute(IN_THE_WAY)
    return conn


def test_a_step_that_is_held_up_holds_nobody_up_and_goes_on_when_it_can(
    at_five: Database, holder: psycopg.Connection[Any]
) -> None:
    upgrading = at_five.connect()
    pid = upgrading.info.backend_pid
    watch = Ledger(at_five.connect(options="-c lock_timeout=10s"))
    running = Call(lambda: steps.upgrade(upgrading, to=6))
    for _ in range(3):
        watch.wait(WAITS, pid)
        watch.run(IN_THE_WAY.replace("held", f"beside {os.urandom(4).hex()}"))
        watch.wait(PAUSES, pid)
    assert watch.one("select version from emq.meta") == 5
    holder.commit()
    assert running.result() == [6]
    assert watch.one("select version from emq.meta") == 6
    assert watch.one("select count(*) from emq.inbox") == 4


def test_a_step_that_never_gets_its_lock_changes_nothing_and_says_who_has_it(
    at_five: Database, holder: psycopg.Connection[Any]
) -> None:
    conn = at_five.connect(options="-c emq.step_patience=0")
    at_five.connect().execute("create table orders (id int)")
    bystander = at_five.connect(autocommit=False)
    bystander.execute("lock table orders in exclusive mode")
    who = f"process {holder.info.backend_pid} ({holder.info.user}, the long report)"
    with pytest.raises(Retryable) as told:
        steps.upgrade(conn, to=6)
    assert told.value.what == f"Step 6 got no lock in 1 tries of 500ms; held by {who}."
    assert steps.current(conn) == 5
    assert conn.execute("select to_regclass('emq.inbox_id_idx')").fetchone() == (None,)
    holder.rollback()
    assert steps.upgrade(conn, to=6) == [6]


def test_a_downgrade_gives_way_too(at_five: Database) -> None:
    conn = at_five.connect(options="-c emq.step_patience=0")
    steps.upgrade(conn, to=6)
    holder = at_five.connect(autocommit=False)
    holder.execute(IN_THE_WAY)
    with pytest.raises(Retryable, match=f"held by process {holder.info.backend_pid}"):
        steps.downgrade(conn, to=5)
    assert steps.current(conn) == 6
    holder.rollback()
    assert steps.downgrade(conn, to=5) == [6]


def test_a_prepared_transaction_that_is_in_the_way_is_named(
    at_five: Database, holder: psycopg.Connection[Any]
) -> None:
    if holder.execute("show max_prepared_transactions").fetchone() == ("0",):
        pytest.skip("The server takes no prepared transactions.")
    holder.rollback()
    holder.tpc_begin(holder.xid(1, "in the way", "x"))
    holder.execute(IN_THE_WAY)
    holder.tpc_prepare()
    conn = at_five.connect(options="-c emq.step_patience=0")
    with pytest.raises(Retryable, match="held by a prepared transaction"):
        steps.upgrade(conn, to=6)


def test_the_sessions_own_lock_timeout_is_kept_before_and_after(
    at_five: Database, holder: psycopg.Connection[Any]
) -> None:
    conn = at_five.connect(options="-c emq.step_patience=0 -c lock_timeout=70ms")
    with pytest.raises(Retryable, match="tries of 70ms"):
        steps.upgrade(conn, to=6)
    holder.rollback()
    for direction in ("up", "down"):
        for before in ("0", "70ms", "1h"):
            with conn.transaction(force_rollback=before != "1h"):
                conn.execute(f"set local lock_timeout = '{before}'")
                conn.execute(steps.render(STEP, direction).encode())  # type: ignore[arg-type]
                assert conn.execute("show lock_timeout").fetchone() == (before,)


def test_a_step_whose_transaction_holds_others_up_already_tries_once(
    at_five: Database, holder: psycopg.Connection[Any]
) -> None:
    """As in a revision that has altered tables of the application before."""
    conn = at_five.connect(autocommit=False)
    conn.execute("create table orders (id int)")
    conn.commit()
    conn.execute("alter table orders add column note text")
    with refused("55P03", names="in 1 tries", hint="in a transaction of its own"):
        conn.execute(steps.render(STEP, "up").encode())
    conn.rollback()
    watch = Ledger(at_five.connect())
    running = Call(lambda: conn.execute(steps.render(STEP, "up").encode()))
    watch.wait(PAUSES, conn.info.backend_pid)  # alone it tries again
    holder.rollback()
    running.result()


@pytest.mark.parametrize("settings", ["", "-c lock_timeout=1h -c deadlock_timeout=3s"])
def test_of_a_step_and_a_transaction_that_wait_for_each_other_the_step_gives_way(
    at_five: Database, settings: str
) -> None:
    """The server would look for the deadlock after a second and end one of them, maybe the other.

    With a long lock_timeout of its own a step may be the one that it ends: it tries again. (It
    looks once, so long after it began to wait; by then the other one waits, too.)
    """
    lead = "create index inbox_id_idx"
    crossing = steps.render(STEP, "up").replace(
        lead, f"lock table emq.job in access exclusive mode; lock table emq.active; {lead}"
    )
    upgrading, other = at_five.connect(options=settings), at_five.connect(autocommit=False)
    other.execute("set deadlock_timeout = '20s'")
    other.execute("lock table emq.active in row exclusive mode")
    running = Call(lambda: upgrading.execute(crossing.encode()))
    watch = Ledger(at_five.connect())
    watch.wait(
        "exists (select from pg_locks where pid = %s and relation = 'emq.active'::regclass"
        " and not granted)",
        upgrading.info.backend_pid,
    )
    other.execute("lock table emq.job in row exclusive mode")
    other.commit()
    running.result()
    assert steps.current(upgrading) == 6


def test_who_waits_for_another_upgrade_waits_until_it_has_ended(at_five: Database) -> None:
    """Not 500 ms: nobody is held up by it, and afterwards there is nothing left to do."""
    first = at_five.connect(autocommit=False)
    first.execute(steps.render(STEP, "up").encode())
    second = at_five.connect(options="-c emq.step_patience=0")
    running = Call(lambda: steps.upgrade(second, to=6))
    watch = Ledger(at_five.connect())
    watch.wait(
        "exists (select from pg_stat_activity a join pg_locks l using (pid)"
        " where a.pid = %s and l.locktype = 'advisory' and not l.granted"
        " and a.query_start < clock_timestamp() - interval '0.7 s')",
        second.info.backend_pid,
    )
    first.commit()
    assert running.result() == [6]
