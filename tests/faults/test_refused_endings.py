"""Endings that the database will not take: they cost their own job at most, and no worker."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo

from emq_sql.protocol import steps
from tests.faults.processes import Field, wait_for
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
    assert worker.said().count("its result cannot be stored and is dropped") == 2
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


def test_a_right_that_is_missing_for_a_while_costs_no_result(field: Field) -> None:
    """A refusal that has nothing to do with the result leaves it alone, and is no answer."""
    completes = "emq.complete, emq.complete_and_claim"
    role = f"{field.one('select current_database()')}_worker"
    field.reader.execute(f'create role "{role}" login')
    field.reader.execute(f'grant usage on schema emq to "{role}"')
    field.reader.execute(f'grant select on emq.meta, started, go to "{role}"')
    field.reader.execute(f'grant insert on started to "{role}"')
    field.reader.execute(f'grant execute on all functions in schema emq to "{role}"')
    try:
        worker = field.start(dsn=make_conninfo(field.dsn, user=role), concurrency=1)
        (job,) = field.enqueue("hold")
        field.until_started(1)
        field.reader.execute(f'revoke execute on function {completes} from "{role}"')
        field.let_go()
        refused = "cannot be settled, it is tried again"
        wait_for(lambda: worker.said().count(refused) >= 4, refused, field)
        assert "the database answers again" not in worker.said()
        field.reader.execute(f'grant execute on function {completes} to "{role}"')
        field.until_archived(1)
        assert field.rows("select id, result from emq.archive") == [(job, "went")]
        worker.send(signal.SIGTERM)
        assert worker.wait() == 0
        assert "is dropped" not in worker.said()
    finally:
        field.close()
        field.reader.execute(f'drop owned by "{role}"')
        field.reader.execute(f'drop role "{role}"')
