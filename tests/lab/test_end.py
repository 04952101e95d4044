"""However the lab ends, no process of it is left; asked to end, it leaves no schema either."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psycopg
import pytest

from tests.demo.processes import PATIENCE, alive, descendants, eventually
from tests.plugins.databases import Database

pytestmark = pytest.mark.faults


def schemas(conn: psycopg.Connection[tuple[str]]) -> list[str]:
    found = conn.execute("select nspname from pg_namespace where nspname like 'emq%'").fetchall()
    return [name for (name,) in found]


def is_at_work(conn: psycopg.Connection[tuple[str]]) -> bool:
    """The first worker of some cell has begun its run."""
    tables = "select format('%I.%I', schemaname, tablename) from pg_tables"
    for (table,) in conn.execute(f"{tables} where tablename = 'lab_run'".encode()).fetchall():
        return bool(conn.execute(f"select from {table}".encode()).fetchall())
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_a_lab_that_is_ended(empty_db: Database, number: signal.Signals) -> None:
    conn = empty_db.connect()
    process = subprocess.Popen(
        [sys.executable, "-m", "emq_sql", "lab", "--dsn", empty_db.dsn],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={name: value for name, value in os.environ.items() if name != "EMQ_DSN"},
    )  # fmt: skip
    try:
        eventually(lambda: is_at_work(conn), "a worker is at work")
        workers = descendants(process.pid)
        assert len(workers) > 1
        process.send_signal(number)
        said, _ = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.wait()
    eventually(lambda: not alive(workers), f"its processes have ended: {workers}")
    if number == signal.SIGTERM:
        assert process.returncode == 128 + number, said
        assert schemas(conn) == []
    else:
        (left,) = schemas(conn)
        comment = "select obj_description(%s::regnamespace, 'pg_namespace')"
        (says,) = conn.execute(comment.encode(), [left]).fetchone() or ("",)
        assert says.startswith("made by emq lab for one run at ")
        assert says.endswith("; it may be dropped")
        assert f"drop schema {left} cascade".encode() in said
