"""Looking changes nothing: every function, view and command that reads does so read-only."""

from __future__ import annotations

from uuid import UUID

import pytest
from click.testing import CliRunner

from emq_sql.cli.main import main
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger
from tests.security.test_roles import MAY_CALL, MAY_READ, OPERATOR, READER

ARGUMENTS = {
    "as_of": "now(), 10, null",
    "claimed": "7",
    "dead_groups": "",
    "dead_letter": "%(dead)s",
    "dead_list": "",
    "envelope": "%(active)s",
    "export_days": "current_date",
    "fingerprint": "'t', 'exception', 'boom'",
    "headline": "'boom'",
    "here": "",
    "export_rows": "current_date, null, null, 10",
    "id_time": "%(dead)s",
    "job_id": "'key', now()",
    "kept_days": "",
    "outcome": "%(active)s, 1",
    "place": "%(overdue)s",
    "replay_count": "'{}'",
    "result": "%(done)s",
    "search": "",
    "story": "%(overdue)s",
}  # fmt: skip
TIMES = 50


@pytest.fixture
def jobs(ledger: Ledger) -> dict[str, UUID]:
    """A job in each place, one of them overdue."""
    dead = ledger.add_one(max_attempts=1)
    ledger.retry(ledger.take(), error="boom")
    done = ledger.start()
    ledger.complete(done)
    active = ledger.start()
    overdue = ledger.add_one(delay="50 ms")
    ledger.wait("exists (select from emq.scheduled where run_at < clock_timestamp())")
    return {"dead": dead, "done": done.id, "active": active.id, "overdue": overdue}


def test_reading_fifty_times_changes_nothing_and_what_is_overdue_stays_so(
    ledger: Ledger, other: Ledger, jobs: dict[str, UUID]
) -> None:
    stable = ledger.column(
        "select proname from pg_proc"
        " where pronamespace = 'emq'::regnamespace and provolatile <> 'v'"
    )
    readers = {name for name, roles in MAY_CALL.items() if roles & {OPERATOR, READER}}
    assert readers & set(stable) <= set(ARGUMENTS), "give the arguments of the new one"
    assert set(ARGUMENTS) <= set(stable)
    other.run("set transaction read only")
    for _ in range(TIMES):
        for name, arguments in ARGUMENTS.items():
            other.conn.execute(f"select * from emq.{name}({arguments})".encode(), jobs)
        for name in MAY_READ:
            other.rows(f"select * from emq.{name}")
    assert other.one("select pg_current_xact_id_if_assigned()") is None
    other.conn.rollback()
    assert ledger.promote() == 1
    assert ledger.take().id == jobs["overdue"]


COMMANDS = (
    "ledger", "queues", "job ID", "job ID --payload", "dead list", "dead group", "dead show DEAD",
    "archive days", "archive search --error boom", "archive as-of 2026-01-31T10:00:00+01:00",
    "doctor",
)  # fmt: skip


def test_a_command_that_looks_needs_no_more_than_to_read(
    db: Database, jobs: dict[str, UUID]
) -> None:
    """Its sessions may not write."""
    read_only = db.dsn + "&options=-c%20default_transaction_read_only%3Don"
    for words in COMMANDS:
        said = words.replace("ID", str(jobs["overdue"])).replace("DEAD", str(jobs["dead"])).split()
        ran = CliRunner().invoke(main, said, env={"EMQ_DSN": read_only}, catch_exceptions=False)
        assert ran.exit_code == 0, (words, ran.output)
