"""Jobs settle whatever the server aborts; those that failed together do not come together."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from emq_sql.embedded import Server
from emq_sql.minting import new_id
from emq_sql.protocol import steps
from tests.cases.jobs import CURVES, MINIMUM, NOMINAL
from tests.faults.forking import ForkedField
from tests.plugins.own_server import kind_of, own_server_of
from tests.plugins.running import PgServer
from tests.protocol.calls import Ledger

JOBS = int(os.environ.get("EMQ_SQL_ABORTED_JOBS", "240"))

# A sequence counts through every rollback. Every twentieth statement on the ledger is aborted, in
# turn as the victim of a deadlock and as one that could not be serialized.
STRIKES = """
create sequence statements;
create sequence struck;
create function strike() returns trigger language plpgsql security definer as $$
begin
  if nextval('public.statements') % 20 = 0 then
    if nextval('public.struck') % 2 = 0 then
      raise exception 'deadlock detected' using errcode = 'deadlock_detected';
    end if;
    raise exception 'could not serialize access' using errcode = 'serialization_failure';
  end if;
  return null;
end $$;
"""
TABLES = ("pending", "active", "scheduled", "archive", "attempt", "worker", "settled")


def test_every_twentieth_statement_aborted_costs_no_job_anything_and_settles_none_twice(
    field: ForkedField,
) -> None:
    field.reader.execute(STRIKES)
    plain = field.enqueue("plain", JOBS)
    own = field.enqueue("own", JOBS // 4)
    long = field.enqueue("c_sleep", 4, seconds=1.5)
    for table in TABLES:
        field.reader.execute(
            f"create trigger strike before insert or update or delete on emq.{table}"
            f" for each statement execute function strike()".encode()
        )
    workers = [field.start(lease=1, concurrency=4) for _ in range(2)]
    field.until_archived(JOBS + len(own) + len(long), seconds=60)
    assert field.one("select last_value from struck") > JOBS / 20
    for worker in workers:
        assert worker.poll() is None
        assert "refused" not in worker.said()
        assert "cannot be settled" not in worker.said()
    paid = "select max(attempts), max(stalled), max(failures) from emq.archive where id = any(%s)"
    assert field.rows(paid, plain + long) == [(1, 0, 0)]
    assert field.one("select count(distinct id) from emq.archive") == JOBS + len(own) + len(long)
    effects = "select count(*), count(distinct job) from effect where job = any(%s)"
    assert field.rows(effects, own) == [(len(own), len(own))]
    assert field.one("select count(*) from emq.refusal") == 0


CLIENTS = 32
ROUNDS = 25


@pytest.fixture
def quiet(pg_server: PgServer) -> Iterator[Server]:
    """A server on which nobody else makes locks."""
    if pg_server.choice == "docker":
        pytest.skip("no programs for a server of its own")
    with own_server_of(kind_of(pg_server)) as server:
        yield server


def next_multixact(connection: psycopg.Connection[Any]) -> int:
    connection.execute("checkpoint")
    row = connection.execute("select next_multixact_id::text from pg_control_checkpoint()")
    return int(row.fetchone()[0])  # type: ignore[index]


def test_many_clients_on_the_same_queue_never_deadlock_and_make_no_shared_locks(
    quiet: Server,
) -> None:
    """Foreign keys between hot rows would make both."""
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            with psycopg.connect(quiet.dsn, autocommit=True) as connection:
                mine = Ledger(connection)
                for _ in range(ROUNDS):
                    mine.add_many([new_id() for _ in range(2)])
                    held = mine.claim(2, worker="all of them", nonce=number)
                    mine.extend(*held)
                    mine.retry(*held[:1])
                    mine.complete(*held[1:])
                    mine.reap()
        except BaseException as error:
            errors.append(error)

    with psycopg.connect(quiet.dsn, autocommit=True) as connection:
        steps.upgrade(connection)
        before = next_multixact(connection)
        clients = [threading.Thread(target=work, args=(n,)) for n in range(CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join(120)
        assert errors == []
        deadlocks = "select deadlocks from pg_stat_database where datname = current_database()"
        assert connection.execute(deadlocks).fetchone() == (0,)
        assert next_multixact(connection) - before <= 1
        done = connection.execute("select count(*) from emq.archive").fetchone()
        assert done is not None
        assert done[0] > CLIENTS * ROUNDS / 4


def test_no_table_of_the_ledger_refers_to_another(ledger: Ledger) -> None:
    keys = "select conname from pg_constraint where contype = 'f'"
    assert ledger.rows(f"{keys} and connamespace = 'emq'::regnamespace") == []


TOGETHER = 100


def test_jobs_that_fail_together_come_back_spread_out_and_none_before_its_minimum(
    field: ForkedField,
) -> None:
    """The due time is reckoned by the server's clock, from the end of the attempt."""
    for curve in CURVES:
        field.enqueue(f"breaks_{curve}", TOGETHER)
    field.start(concurrency=50)
    field.until("select count(*) = %s from emq.scheduled", TOGETHER * len(CURVES))
    waits: dict[str, list[float]] = {}
    for task, wait in field.rows(
        """select j.task, extract(epoch from s.run_at - t.ended_at)::float
             from emq.scheduled s join emq.attempt t on t.id = s.id join emq.job j on j.id = s.id"""
    ):
        waits.setdefault(task.removeprefix("breaks_"), []).append(wait)
    slack = 0.5  # ended_at and run_at are two readings of the clock, in one statement
    for curve in ("exponential", "linear", "constant"):
        assert min(waits[curve]) >= MINIMUM - slack
        assert max(waits[curve]) <= NOMINAL + slack
        assert max(waits[curve]) - min(waits[curve]) >= NOMINAL / 2
        assert len({round(wait) for wait in waits[curve]}) > TOGETHER / 2
    for curve, expected in (("custom", NOMINAL - 1), ("without_jitter", NOMINAL)):
        assert all(abs(wait - expected) < slack for wait in waits[curve])
