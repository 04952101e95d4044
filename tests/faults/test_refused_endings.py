"""Endings that the database will not take: they cost their own job at most, and no worker."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from emq_sql.protocol import steps
from tests.faults.processes import Field
from tests.plugins.databases import scratch
from tests.plugins.running import PgServer

CALLS = "(select coalesce(sum(calls), 0) from pg_stat_user_functions where funcname = '{}')"


@pytest.fixture
def latin_field(pg_server: PgServer, tmp_path: Path) -> Iterator[Field]:
    """Workers on a database that has no snowman."""
    with scratch(pg_server, encoding="LATIN1") as database:
        with database.connect() as connection:
            steps.upgrade(connection)
        place = Field(database.dsn, tmp_path, database.connect())
        try:
            yield place
        finally:
            place.close()


def test_a_result_that_the_database_has_no_letters_for_stops_no_worker(latin_field: Field) -> None:
    snowmen = latin_field.enqueue("snowman", 2)
    others = latin_field.enqueue("plain", 5)
    worker = latin_field.start(burst=True)
    assert worker.wait() == 0
    results = dict(latin_field.rows("select id, result from emq.archive"))
    assert {results[job] for job in others} == {"done"}
    assert all("emq_unstorable" in results[job] for job in snowmen)
    assert latin_field.one("select max(attempts) from emq.archive") == 1


def test_a_claim_that_did_nothing_leaves_nothing_to_read_back(field: Field) -> None:
    """The server ends idle sessions: that is said with a code, and no claim is in doubt."""
    name = field.one("select current_database()")
    field.reader.execute(f"alter database {name} set idle_session_timeout = '300ms'")
    field.reader.execute(f"alter database {name} set track_functions = 'pl'")
    worker = field.start(poll=0.7)
    field.enqueue("plain", 3)
    field.until_archived(3)
    field.until(f"select {CALLS.format('claim')} >= 5")
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0
    assert "idle-session timeout" in worker.said()
    assert field.one(f"select {CALLS.format('claimed')}") == 0
