"""The servers: one durable PostgreSQL for everybody, one Redis, and what is read off them."""

from __future__ import annotations

import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import psycopg

from bench import place
from bench.compare.catalogue import Failed
from bench.compare.processes import Guarded
from emq_sql.embedded import start

# Commits are durable: an acknowledged one survives a crash of the machine.
DURABLE: dict[str, str | int | bool] = {
    "fsync": True,
    "synchronous_commit": True,
    "full_page_writes": True,
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "15min",
    "max_connections": 100,
}
REDIS = {"appendonly": "yes", "appendfsync": "everysec", "save": ""}
REDIS_PROGRAMS = ("redis-server", "/usr/bin/redis-server")


@dataclass(frozen=True, slots=True)
class Reading:
    """Seconds of CPU, bytes of WAL and commits so far; None where there is no such thing."""

    cpu: float
    wal: int | None
    commits: int | None


class Place(Protocol):
    """A server that peers of one kind share, each for the time of a cell."""

    def fresh(self, name: str) -> Any:
        """A context with the DSN of an empty database, gone afterwards."""

    def settle(self) -> None:
        """What was written so far disturbs what is measured next no more."""

    def read(self, dsn: str) -> Reading: ...


class Postgres:
    """A private PostgreSQL with durable commits."""

    def __init__(self) -> None:
        self.server = start(durable=True, options=DURABLE)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.server.stop()

    @contextmanager
    def fresh(self, name: str) -> Iterator[str]:
        database = f"bench_{name}"
        with self._admin() as conn:
            conn.execute(f"drop database if exists {database} with (force)".encode())
            conn.execute(f"create database {database}".encode())
        try:
            yield self.server.dsn.replace("/postgres?", f"/{database}?", 1)
        finally:
            with self._admin() as conn:
                conn.execute(f"drop database if exists {database} with (force)".encode())

    def settle(self) -> None:
        with self._admin() as conn:
            conn.execute("checkpoint")

    def read(self, dsn: str) -> Reading:
        database = psycopg.conninfo.conninfo_to_dict(dsn)["dbname"]
        cpu = place.server_cpu(self.server)
        with self._admin() as conn:
            wal = place.wal_position(conn)
            row = conn.execute(
                "select xact_commit from pg_stat_database where datname = %s", [database]
            ).fetchone()
        return Reading(cpu, wal, int(row[0]) if row else 0)

    @contextmanager
    def pinned(self, dsn: str) -> Iterator[None]:
        """An idle REPEATABLE READ snapshot, as a forgotten psql or a long export holds one."""
        with psycopg.connect(dsn) as conn:
            conn.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            conn.execute("select count(*) from pg_class")
            yield
            conn.rollback()

    def _admin(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.server.dsn, autocommit=True)


class Redis:
    """Debian's redis-server on the loopback, with a port and a directory of its own."""

    def __init__(self, seconds: float) -> None:
        program = next(filter(None, map(shutil.which, REDIS_PROGRAMS)), None)
        if program is None:
            raise Failed("there is no redis-server (Debian: apt-get install redis-server)")
        self._folder = Path(tempfile.mkdtemp(prefix="emq-redis-"))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        options = {"bind": "127.0.0.1", "port": str(self._port), "dir": str(self._folder), **REDIS}
        command = [program] + [
            word for name, value in options.items() for word in (f"--{name}", value)
        ]
        self._process = Guarded(
            command, {"PATH": "/usr/bin:/bin"}, self._folder, self._folder / "log", seconds
        )
        self.version = self._info("redis_version")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self._process.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    @contextmanager
    def fresh(self, name: str) -> Iterator[str]:  # noqa: ARG002  its adapters empty it
        yield f"redis://127.0.0.1:{self._port}/0"

    def settle(self) -> None:
        """Nothing to do: the file is appended to, and rewritten by Redis alone."""

    def read(self, dsn: str) -> Reading:  # noqa: ARG002
        return Reading(self._process.cpu(), None, None)

    def _info(self, field: str) -> str:
        until = time.monotonic() + 10
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self._port), 2) as conn:
                    conn.sendall(b"INFO server\r\n")
                    said = conn.recv(1 << 16).decode()
                return said.split(f"{field}:")[1].split("\r\n")[0]
            except (OSError, IndexError) as error:
                self._process.check()
                if time.monotonic() > until:
                    raise Failed("redis-server does not answer") from error
                time.sleep(0.05)
