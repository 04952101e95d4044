"""What holds for psycopg, whoever binds the parameters, and for psycopg2."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.effects.in_django.room import furnished
from tests.effects.in_django.scenarios import SCENARIOS
from tests.plugins.databases import Database


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("server_binds", [False, True])
def test_psycopg(db: Database, scenario: str, server_binds: bool) -> None:
    with furnished(db) as room:
        connection = room.aim(db.dsn, OPTIONS={"server_side_binding": server_binds})
        connection.ensure_connection()
        SCENARIOS[scenario](room, connection)
        room.ledger.conn.close()


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_psycopg2(db: Database, scenario: str) -> None:
    pytest.importorskip("psycopg2")
    done = subprocess.run(
        [sys.executable, "-m", "tests.effects.in_django.with_psycopg2", db.dsn, scenario],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
