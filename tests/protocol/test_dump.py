"""The checked-in migrations/schema.sql is what the steps make, so that a review sees the result."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from emq_sql.embedded import find
from tests.plugins.databases import Database
from tests.plugins.running import PgServer

DUMP = Path(__file__).resolve().parents[2] / "migrations" / "schema.sql"
WRITTEN_BY = 18
WRITE = "EMQ_SQL_WRITE_DUMP"

HEAD = """-- The schema at the newest step, as PostgreSQL 18 dumps it without partitions of days.
-- For review, never run. Written by `make dump`; a test compares it with the sum of the steps.
"""
# The version of a minor release, and the random key that guards psql's restricted mode.
PASSING = re.compile(r"^(\\(un)?restrict .*|-- Dumped (from|by) .*)\n", re.M)


def dump_of(database: Database) -> str:
    program = find("embedded").bindir / "pg_dump"
    days = [f"--exclude-table=emq.{parent}_2*" for parent in ("archive", "attempt")]
    options = ["--schema=emq", "--schema-only", "--no-owner", *days]
    done = subprocess.run(
        [program, *options, database.dsn], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return HEAD + re.sub(r"\n{3,}", "\n\n", PASSING.sub("", done.stdout)).rstrip() + "\n"


def test_the_checked_in_dump_equals_what_the_steps_make(pg_server: PgServer, db: Database) -> None:
    if pg_server.major != WRITTEN_BY:
        pytest.skip(f"the dump is PostgreSQL {WRITTEN_BY}'s")
    made = dump_of(db)
    if os.environ.get(WRITE):
        DUMP.write_text(made)
    assert DUMP.is_file(), "There is no dump: make dump"
    assert made == DUMP.read_text(), "The steps make another schema: run make dump, and review it."
