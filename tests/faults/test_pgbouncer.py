"""Everything works through PgBouncer in transaction mode, and the worker says whether it hears."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest
import sqlalchemy
from sqlalchemy.orm import Session

from emq_sql import EMQ
from emq_sql.job import NewJob
from emq_sql.minting import new_id
from emq_sql.protocol import claiming, enqueueing, holding, steps
from emq_sql.protocol.link import Link
from tests.faults.processes import Field
from tests.plugins.databases import Database, scratch
from tests.plugins.parked import Parked
from tests.plugins.pgbouncer import PgBouncer, bounced
from tests.plugins.running import PgServer

PARKED = """
select count(*) from pg_locks l join pg_database d on d.oid = l.database
 where l.locktype = 'advisory' and l.classid = 7306 and d.datname = current_database()
"""


def settled_once(field: Field, jobs: int) -> None:
    """All are archived, and each effect is of the run that completed its job."""
    field.until_archived(jobs, seconds=60)
    assert field.one("select count(*) from effect") == jobs
    assert field.one(
        "select count(*) from effect e join emq.archive a on a.id = e.job and a.fence = e.fence"
    ) == jobs  # fmt: skip


def test_a_worker_drains_500_jobs_and_hears_the_bell_by_a_direct_connection(
    field: Field, pgbouncer: PgBouncer
) -> None:
    field.enqueue("own", 490)
    field.enqueue("fails", 5, times=1)
    field.enqueue("c_sleep", 5, seconds=0.7)  # for twice the lease
    worker = field.start(
        {"EMQ_LISTEN_DSN": pgbouncer.direct}, dsn=pgbouncer.dsn, concurrency=8, lease=0.3, poll=3600
    )
    field.until_archived(500, seconds=60)
    assert field.one("select count(distinct job) from effect") == 490
    assert field.one("select count(*) from effect") == 490
    assert field.one("select count(*) from emq.refusal") == 0
    assert field.one("select max(stalled) from emq.archive") == 0
    assert "bell heard" in worker.said()
    emq = EMQ(pgbouncer.dsn)
    emq.task(name="plain")(lambda: None).enqueue()
    field.until_archived(501)
    emq.engine.dispose()
    worker.send(15)
    assert worker.wait() == 0
    trouble = [line for line in worker.said().splitlines() if " WARNING " in line]
    assert all("fails on purpose" in line for line in trouble)


def test_a_pooler_that_restarts_in_the_middle_of_the_work_costs_no_job_and_no_second_effect(
    field: Field, pgbouncer: PgBouncer
) -> None:
    field.enqueue("own", 200, seconds=0.01)
    worker = field.start(dsn=pgbouncer.dsn, concurrency=4, lease=2, bell=False)
    for archived in (50, 120):
        field.until("select count(*) >= %s from emq.archive", archived)
        pgbouncer.restart()
    settled_once(field, 200)
    worker.send(15)
    assert worker.wait() == 0


def test_a_worker_that_cannot_listen_says_so_once_and_polls(
    field: Field, pgbouncer: PgBouncer
) -> None:
    worker = field.start(dsn=pgbouncer.dsn)
    field.until("select count(*) = 1 from emq.worker")
    field.enqueue("own", 3)
    settled_once(field, 3)
    said = [line for line in worker.said().splitlines() if "bell" in line]
    assert len(said) == 2
    assert "WARNING" in said[0] and "A pooler is in front of the server" in said[0]
    assert "--listen-dsn" in said[0]
    assert "bell not heard" in said[1]
    assert field.one(PARKED) == 0


def test_a_pooler_in_session_mode_is_listened_through(field: Field, db: Database) -> None:
    with bounced(db.dsn, pool_mode="session") as pgbouncer:
        worker = field.start(dsn=pgbouncer.dsn, poll=3600)
        field.until(f"select ({PARKED}) = 1")
        emq = EMQ(db.dsn)
        emq.task(name="plain")(lambda: None).enqueue()
        field.until_archived(1)
        emq.engine.dispose()
        assert "bell heard" in worker.said()
        worker.send(15)
        assert worker.wait() == 0


def test_jobs_are_added_in_every_way_and_rung_for(
    db: Database, pgbouncer: PgBouncer, parked: Parked
) -> None:
    emq = EMQ(pgbouncer.dsn)
    send = emq.task(name="send")(lambda n: None)
    engine = sqlalchemy.create_engine(
        pgbouncer.dsn.replace("postgresql:", "postgresql+psycopg:", 1),
        connect_args={"prepare_threshold": None},
    )
    for n in range(12):  # more often than psycopg needs to prepare a statement
        send.enqueue(n=n)
        send.using(queue="mail").enqueue_many([{"n": n}, {"n": n}])
        with Session(engine) as session:
            send.using(session=session).enqueue(n=n)
            session.commit()
            send.using(session=session).enqueue(n=-1)
            session.rollback()
        with engine.begin() as connection:
            send.using(session=connection).enqueue(n=n)
    assert emq.flush_rings(20)
    assert {"default", "mail"} == set(parked.heard())
    added = db.connect().execute("select count(*), min((payload -> 'n')::int) from emq.job")
    assert added.fetchall() == [(12 * 5, 0)]
    emq.engine.dispose()
    engine.dispose()


def test_each_client_keeps_its_name_in_a_session_that_they_share(db: Database) -> None:
    def name(conn: psycopg.Connection[Any]) -> tuple[int, str]:
        row = conn.execute("select pg_backend_pid(), current_setting('application_name')")
        pid, said = row.fetchone() or (0, "")
        return int(pid), str(said)

    with bounced(db.dsn, default_pool_size=1) as pgbouncer:
        names = ("emq claim a", "emq keep a", "emq claim b")
        links = [Link(lambda: psycopg.connect(pgbouncer.dsn, autocommit=True), n) for n in names]
        seen = [(link.call(name), each) for link, each in list(zip(links, names, strict=True)) * 12]
        assert all(said == each for (_, said), each in seen)
        assert len({pid for (pid, _), _ in seen}) == 1
        for link in links:
            link.close()


class Line:
    """The jobs that wait in one ledger, in the order in which they must come."""

    def __init__(self) -> None:
        self.recovered: list[UUID] = []
        self.fresh: list[UUID] = []

    def take(self, n: int) -> list[UUID]:
        line = self.recovered + self.fresh
        self.fresh = self.fresh[max(n - len(self.recovered), 0) :]
        self.recovered = self.recovered[n:]
        return line[:n]


class Client:
    """One client of the pooler, in a ledger that it shares with another one."""

    def __init__(self, dsn: str, schema: str, line: Line) -> None:
        self.conn = psycopg.connect(dsn, autocommit=True, prepare_threshold=None)
        self.schema = schema
        self.line = line

    def enqueue(self, n: int) -> None:
        jobs = [NewJob("t", "{}", new_id()) for _ in range(n)]
        enqueueing.enqueue_many(self.conn, self.schema, "default", jobs, own=True)
        self.line.fresh += sorted(job.id for job in jobs)

    def claim(self, n: int, *, settle: bool = True) -> int:
        """The first n: none is passed over, whoever raised the floors that it meets."""
        held = claiming.claim(self.conn, self.schema, "default", n, "w", random.getrandbits(40))
        leases = [job.lease for job in held]
        assert {lease.id for lease in leases} == set(self.line.take(n))
        if settle:
            assert set(holding.complete(self.conn, self.schema, leases)) <= {"done"}
        else:
            assert set(holding.release(self.conn, self.schema, leases)) <= {"pending"}
            self.line.recovered += sorted(lease.id for lease in leases)
        return len(leases)

    def claim_in_vain(self, n: int) -> None:
        """A claim that is rolled back takes the floors that it raised with it."""
        with pytest.raises(ZeroDivisionError), self.conn.transaction():
            claiming.claim(self.conn, self.schema, "default", n, "w", random.getrandbits(40))
            raise ZeroDivisionError


@pytest.fixture
def clients(db: Database, pg_server: PgServer) -> Iterator[list[Client]]:
    """Two clients of each of three ledgers: two in one database, one in another; one session of the
    server for each database.
    """
    with scratch(pg_server) as other, bounced(db.dsn, default_pool_size=1) as pgbouncer:
        steps.upgrade(db.connect(), schema="second")
        steps.upgrade(other.connect())
        there = pgbouncer.dsn.replace(db.name, other.name)
        made = []
        for dsn, schema in ((pgbouncer.dsn, "emq"), (pgbouncer.dsn, "second"), (there, "emq")):
            line = Line()
            made += [Client(dsn, schema, line), Client(dsn, schema, line)]
        yield made
        for client in made:
            client.conn.close()


@pytest.mark.parametrize("seed", range(2))
def test_floors_that_others_left_in_a_shared_session_hide_no_job(
    clients: list[Client], seed: int
) -> None:
    rng = random.Random(seed)
    for _ in range(150):
        client, n = rng.choice(clients), rng.choice((1, 2, 12))
        what = rng.random()
        if what < 0.4:
            client.enqueue(n)
        elif what < 0.75:
            client.claim(n)
        elif what < 0.85:
            client.claim(n, settle=False)
        elif what < 0.95:
            client.claim_in_vain(n)
        else:
            client.conn.execute(rng.choice(("discard all", "reset all")))
    for client in clients:
        client.claim(10_000)
        floors = "select current_setting(%s, true)"
        name = f"{client.schema}.f{b'default'.hex()}"
        assert client.conn.execute(floors, [name]).fetchone() != (None,)  # they were left there


def test_a_session_that_is_reset_between_clients_works_as_well(field: Field, db: Database) -> None:
    reset = {"server_reset_query": "DISCARD ALL", "server_reset_query_always": 1}
    with bounced(db.dsn, default_pool_size=2, **reset) as pgbouncer:
        field.enqueue("own", 60)
        field.start(dsn=pgbouncer.dsn, concurrency=4, lease=2, bell=False)
        settled_once(field, 60)
