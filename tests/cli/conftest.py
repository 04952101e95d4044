"""The `emq` command as a real process, and a process that holds jobs until it is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.plugins.databases import Database

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "emq_sql"]  # of this checkout, whatever is installed
HOLDER = Path(__file__).with_name("holder.py")
PATIENCE = 60


@dataclass(frozen=True, slots=True)
class Said:
    """What one run of the command said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its output, which must be JSON and nothing else."""
        assert self.code == 0, self.err
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        """Its output line by line; it must have gone well."""
        assert self.code == 0, self.err
        return self.out.splitlines()

    def refused(self, code: int) -> str:
        """The one sentence of a refusal with this exit code, and nothing else."""
        assert self.code == code, (self.code, self.out, self.err)
        assert self.out == ""
        assert self.err.startswith("emq: ") and self.err.count("\n") == 1, self.err
        assert "Traceback" not in self.err
        return self.err

    def misused(self) -> str:
        """How click tells about wrong options."""
        assert self.code == 2, (self.code, self.out, self.err)
        assert "Traceback" not in self.err
        assert self.err.startswith("Usage: emq ")
        return self.err.splitlines()[-1]


class Emq:
    """Runs `emq` with EMQ_DSN set to a database."""

    def __init__(self, dsn: str | None) -> None:
        self._dsn = dsn

    def __call__(self, *words: str, **env: str) -> Said:
        done = subprocess.run(
            [*COMMAND, *words], cwd=ROOT, env=self.env(**env), stdin=subprocess.DEVNULL,
            capture_output=True, encoding="utf-8", errors="replace", timeout=PATIENCE, check=False,
        )  # fmt: skip
        return Said(done.returncode, done.stdout, done.stderr)

    def env(self, **more: str) -> dict[str, str]:
        """The environment of the command."""
        mine = {name: value for name, value in os.environ.items() if not name.startswith("EMQ")}
        return mine | ({"EMQ_DSN": self._dsn} if self._dsn else {}) | more


@pytest.fixture
def emq(db: Database) -> Emq:
    """The command on a database with the ledger."""
    return Emq(db.dsn)


@pytest.fixture
def reader(db: Database) -> psycopg.Connection[Any]:
    """Sees what is committed."""
    return db.connect()


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that holds these jobs."""

    process: subprocess.Popen[str]
    ids: list[str]

    def kill(self) -> None:
        """kill -9, so that the jobs are abandoned."""
        self.process.kill()
        self.process.wait(PATIENCE)


@pytest.fixture
def hold(db: Database) -> Iterator[Callable[..., Holder]]:
    """Starts holders; they end with the test."""
    started: list[subprocess.Popen[str]] = []

    def start(count: int = 1, *, queue: str = "default", lease: float = 60.0) -> Holder:
        process = subprocess.Popen(
            [sys.executable, HOLDER, db.dsn, queue, str(count), str(lease)],
            stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip
        started.append(process)
        assert process.stdout is not None
        return Holder(process, json.loads(process.stdout.readline()))

    yield start
    for process in started:
        process.kill()
        process.wait(PATIENCE)
        assert process.stdout is not None
        process.stdout.close()


def until_expired(reader: psycopg.Connection[Any], count: int) -> None:
    """Wait until so many leases have expired by the server's clock."""
    deadline = time.monotonic() + PATIENCE
    query = "select count(*) from emq.ledger where lease_state = 'expired'"
    while reader.execute(query).fetchone() != (count,):
        assert time.monotonic() < deadline, f"not {count} leases expired"
        time.sleep(0.02)
