"""The server of a session with its databases: fresh ones for a run, kept ones for costly fillings.

Each is a copy of one database with an empty ledger, so that no run pays for another one's rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

from bench import place
from bench.settings import CELL_SECONDS, Sizes
from emq_sql.embedded.server import Server
from emq_sql.protocol import steps

_TEMPLATE = "bench_ledger"
_COMMITS = """
select coalesce(sum(count), 0)
  from pg_get_wal_stats('0/0'::pg_lsn + %(since)s::numeric,
                        least('0/0'::pg_lsn + %(until)s::numeric, pg_current_wal_flush_lsn()), true)
 where "resource_manager/record_type" in ('Transaction/COMMIT', 'Transaction/COMMIT_PREPARED')
"""


@dataclass(frozen=True, slots=True)
class Reading:
    """Seconds of CPU that the whole server has used so far, and where its WAL ends."""

    cpu: float
    wal: int


class Base:
    """A database with a ledger."""

    def __init__(self, server: Server, name: str) -> None:
        self.server = server
        self.name = name
        self.dsn = server.dsn.replace("/postgres?", f"/{name}?", 1)

    def connect(self, *, autocommit: bool = True) -> psycopg.Connection[Any]:
        return psycopg.connect(self.dsn, autocommit=autocommit)

    def one(self, query: str, *params: Any) -> Any:
        """The one value of a query, on a connection of its own."""
        with self.connect() as conn:
            row = conn.execute(query.encode(), params).fetchone()
        assert row is not None
        return row[0]

    def settle(self) -> None:
        """What was written so far disturbs what is measured next no more."""
        with psycopg.connect(self.server.dsn, autocommit=True) as conn:
            conn.execute("checkpoint")

    def read(self) -> Reading:
        cpu = place.server_cpu(self.server)
        with psycopg.connect(self.server.dsn, autocommit=True) as conn:
            return Reading(cpu, place.wal_position(conn))

    def cost(self, before: Reading, after: Reading, jobs: int) -> dict[str, float]:
        """Of each of so many jobs. Commits are those that wrote something, counted in the WAL: what
        the statistics count arrives late.
        """
        with psycopg.connect(self.server.dsn, autocommit=True) as conn:
            row = conn.execute(_COMMITS, {"since": before.wal, "until": after.wal}).fetchone()
        assert row is not None
        return {
            "server_cpu_us": round((after.cpu - before.cpu) * 1e6 / jobs, 1),
            "wal_bytes": round((after.wal - before.wal) / jobs, 1),
            "commits": round(int(row[0]) / jobs, 4),
        }

    def counts(self) -> dict[str, int]:
        """How many jobs are where."""
        with self.connect() as conn:
            row = conn.execute(
                "select (select count(*) from emq.pending), (select count(*) from emq.scheduled),"
                " (select count(*) from emq.active), (select count(*) from emq.dead),"
                " (select count(*) from emq.archive)"
            ).fetchone()
        assert row is not None
        return dict(zip(("pending", "scheduled", "active", "dead", "archived"), row, strict=True))


class Stage:
    """Where the cells are run; `sizes` says how much of each, `folder` is for their processes."""

    def __init__(self, server: Server, sizes: Sizes, folder: Path) -> None:
        self.server = server
        self.sizes = sizes
        self.folder = folder
        self.deadline = time.monotonic() + CELL_SECONDS
        self._numbers = count()
        self._kept: dict[str, Base] = {}
        with self._admin() as conn:
            conn.execute("create extension pg_walinspect")
            conn.execute(f"create database {_TEMPLATE}".encode())
        with psycopg.connect(Base(server, _TEMPLATE).dsn, autocommit=True) as conn:
            steps.upgrade(conn)

    def begin_cell(self) -> None:
        """The time of the next cell runs from now."""
        self.deadline = time.monotonic() + CELL_SECONDS

    def left(self) -> float:
        return max(1.0, self.deadline - time.monotonic())

    def new_folder(self) -> Path:
        folder = self.folder / f"{next(self._numbers)}"
        folder.mkdir()
        return folder

    @contextmanager
    def fresh(self) -> Iterator[Base]:
        """A database with an empty ledger, gone afterwards."""
        base = self._made(f"bench_{next(self._numbers)}")
        try:
            yield base
        finally:
            with self._admin() as conn:
                conn.execute(f"drop database {base.name} with (force)".encode())

    def kept(self, name: str, fill: Callable[[Base], None]) -> Base:
        """A database that is filled once, for all runs of the session."""
        if name not in self._kept:
            base = self._made(f"kept_{name}")
            fill(base)
            base.settle()
            self._kept[name] = base
            self.begin_cell()
        return self._kept[name]

    def _made(self, name: str) -> Base:
        with self._admin() as conn:
            conn.execute(f"create database {name} template {_TEMPLATE}".encode())
        return Base(self.server, name)

    def _admin(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.server.dsn, autocommit=True)
