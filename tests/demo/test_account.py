"""Whatever does not balance is found, by the account that the demo prints."""

from __future__ import annotations

import pytest

from emq_sql.demo.account import Account, account, figures
from emq_sql.demo.place import IN_A_GIVEN_DATABASE
from emq_sql.demo.scene import Death, Freeze, Happened
from tests.demo.conftest import ODD_FILES, Ran

pytestmark = pytest.mark.faults

AS_IT_WAS = Happened(
    [Death("worker 1", 2, 2.5), Death("worker 2", 1, 2.5)], [Freeze("worker 1", 1)]
)
_SOME = "(select * from emq_demo.archive order by id limit 1)"

PLANTED = {
    "a result written twice": (
        "insert into emq_demo_files.result select * from emq_demo_files.result limit 1",
        {"results written twice"},
    ),
    "a result written twice, once by a stale holder": (
        "insert into emq_demo_files.result (path, job_id, fence, attempts, measured_by)"
        " select path, job_id, fence + 1, attempts, 'x' from emq_demo_files.result limit 1",
        {"results written twice", "results under a stale fence"},
    ),
    "a result that is missing": (
        "delete from emq_demo_files.result where path ="
        " (select path from emq_demo_files.result limit 1)",
        {"lost"},
    ),
    "a job that is in no place": (
        f"delete from emq_demo.archive where id = (select id from {_SOME} r)",
        {"lost", "completed", "in more than one place", "results under a stale fence"},
    ),
    "a completed job that waits as well": (
        f"insert into emq_demo.pending (id, rank, queue) select id, 5, queue from {_SOME} r",
        {"in more than one place", "unfinished"},
    ),
    "a job that never ran": (
        "select emq_demo.enqueue('files', 'measure', '{\"path\": \"/x\"}', emq_demo.uuid7())",
        {"enqueued", "completed", "jobs without a file", "unfinished"},
    ),
    "a file without a job": (
        "insert into emq_demo_files.file (path, job_id, size)"
        " values ('/x', '01a228e6-5772-730c-9acf-416739bc3cf6', 1)",
        {"files", "enqueued", "lost"},
    ),
    "no refusal": (
        "delete from emq_demo.refusal",
        {"refused late completions"},
    ),
    "a dead letter": (
        f"""with r as (delete from emq_demo.archive a using {_SOME} x
                        where a.id = x.id returning a.*)
            insert into emq_demo.dead (id, attempts, rank, stalled, failures, queue, reason)
            select id, attempts, 5, 0, 0, queue, 'stalled' from r""",
        {"completed", "dead letters", "results under a stale fence"},
    ),
}


def bad(found: Account) -> set[str]:
    return {line.name for line in found.lines if line.good is False}


def test_nothing_is_wrong_with_a_run_as_it_was(ran: Ran) -> None:
    with ran.connect() as conn:
        read = figures(conn, IN_A_GIVEN_DATABASE)
    assert bad(account(len(ODD_FILES), read, AS_IT_WAS, 1.0)) == set()


@pytest.mark.parametrize("what", PLANTED)
def test_a_discrepancy_does_not_balance(ran: Ran, what: str) -> None:
    statement, lines = PLANTED[what]
    with ran.connect() as conn:
        conn.execute(statement.encode())
        read = figures(conn, IN_A_GIVEN_DATABASE)
        conn.rollback()
    found = account(len(ODD_FILES), read, AS_IT_WAS, 1.0)
    assert bad(found) == lines
    assert not found.balances


def test_a_file_that_was_found_and_not_enqueued_does_not_balance(ran: Ran) -> None:
    with ran.connect() as conn:
        read = figures(conn, IN_A_GIVEN_DATABASE)
    assert bad(account(len(ODD_FILES) + 1, read, AS_IT_WAS, 1.0)) == {"files"}


def test_a_run_without_its_faults_does_not_balance(ran: Ran) -> None:
    with ran.connect() as conn:
        read = figures(conn, IN_A_GIVEN_DATABASE)
    once = Happened(AS_IT_WAS.deaths[:1], AS_IT_WAS.freezes)
    assert bad(account(len(ODD_FILES), read, once, 1.0)) == {"workers killed"}
    never = Happened()
    assert bad(account(len(ODD_FILES), read, never, 1.0)) == {"workers killed", "workers frozen"}
