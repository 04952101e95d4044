"""Answers are read whatever styles and encoding a session has."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import psycopg
import pytest

from emq_sql.job import NewJob
from emq_sql.minting import new_id
from emq_sql.protocol import claiming, enqueueing, holding, reading, upkeep
from tests.plugins.databases import Database

STYLES = ("ISO, DMY", "German", "SQL, MDY", "Postgres, YMD")
INTERVALS = ("postgres", "sql_standard", "iso_8601")
LEASE = timedelta(days=1) - timedelta(seconds=0.5)


@pytest.mark.parametrize("encoding", ["utf8", "latin1", "sql_ascii"])
def test_a_session_of_any_style_and_encoding_reads_the_same(db: Database, encoding: str) -> None:
    for style, intervals in product(STYLES, INTERVALS):
        options = f"-c datestyle={style.replace(' ', '')} -c intervalstyle={intervals}"
        with psycopg.connect(
            db.dsn, autocommit=True, options=options, client_encoding=encoding
        ) as conn:
            reads_the_same(conn)


def reads_the_same(conn: psycopg.Connection[Any]) -> None:
    job = NewJob("tâche", '{"name": "Zoë"}', new_id(), run_at=datetime.now(UTC) - timedelta(1))
    assert enqueueing.enqueue(conn, "emq", "default", job).status == "enqueued"
    upkeep.configure(conn, "emq", "default", lease=LEASE)
    (claimed,) = claiming.claim(conn, "emq", "default", 1, "me", 7)
    assert (claimed.task, claimed.payload) == ("tâche", {"name": "Zoë"})
    assert claimed.lease.lease == LEASE
    left = claimed.lease.lease_deadline - datetime.now(UTC)
    assert timedelta(hours=23) < left < timedelta(days=1)
    place = reading.place(conn, "emq", job.id)
    assert place is not None
    assert place["place"] == "active"
    (row,) = reading.ledger(conn, "emq", None)
    assert row["lease_deadline"] == claimed.lease.lease_deadline
    assert holding.complete(conn, "emq", [claimed.lease]) == ["done"]
