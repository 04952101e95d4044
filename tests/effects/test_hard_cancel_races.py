"""Cancel and what a holder does meet on one row: whichever commits first has won."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.protocol.calls import Ledger, refused


def test_a_completion_that_is_first_is_no_cancel(ledger: Ledger, other: Ledger) -> None:
    held = ledger.start()
    assert other.complete(held) == ["done"]
    assert ledger.operate("cancel", held.id) == "busy"
    other.conn.commit()
    assert ledger.operate("cancel", held.id) == "lost"
    assert ledger.place(held.id) == "completed"
    assert ledger.one("select count(*) from emq.archive") == 1
    assert ledger.one("select count(*) from emq.audit") == 0


def test_a_completion_that_is_rolled_back_leaves_the_job_to_the_cancel(
    ledger: Ledger, other: Ledger
) -> None:
    held = ledger.start()
    assert other.complete(held) == ["done"]
    other.conn.rollback()
    assert ledger.operate("cancel", held.id) == "done"
    assert other.complete(held) == ["lost"]
    assert ledger.place(held.id) == "cancelled"


def test_a_cancel_that_is_first_is_no_completion(ledger: Ledger, other: Ledger) -> None:
    held = ledger.start()
    assert other.operate("cancel", held.id) == "done"
    assert ledger.complete(held) == ["busy"]
    assert ledger.extend(held) == ["busy"]
    other.conn.commit()
    assert ledger.complete(held) == ["lost"]
    assert ledger.extend(held) == ["lost"]
    assert ledger.place(held.id) == "cancelled"
    assert ledger.one("select count(*) from emq.archive") == 1
    assert ledger.one("select count(*) from emq.attempt") == 1


@pytest.mark.parametrize("ends", ["commit", "rollback"])
def test_a_guarded_commit_waits_for_an_open_cancel_and_goes_by_its_end(
    ledger: Ledger, other: Ledger, ends: str
) -> None:
    held = ledger.start()
    assert other.operate("cancel", held.id) == "done"
    ledger.conn.autocommit = False
    ledger.run("insert into effect values (1)")
    with ThreadPoolExecutor(1) as threads:
        asks = "select emq.guard_commit(%s, %s)"
        guarded = threads.submit(ledger.one, asks, held.id, held.fence)
        other.wait(
            "count(*) = 1 from pg_stat_activity where pid = %s and wait_event_type = 'Lock'",
            ledger.conn.info.backend_pid,
        )
        getattr(other.conn, ends)()
        if ends == "commit":
            with refused("EQ001", names="cancelled by an operator"):
                guarded.result()
            ledger.conn.rollback()
        else:
            assert guarded.result() == "guarded"
            ledger.conn.commit()
    written = [] if ends == "commit" else [1]
    assert ledger.column("select n from effect") == written
    assert ledger.place(held.id) == ("cancelled" if ends == "commit" else "active")


def test_a_guarded_transaction_that_commits_first_keeps_what_it_wrote(
    ledger: Ledger, other: Ledger
) -> None:
    held = ledger.start()
    other.run("insert into effect values (1)")
    assert other.one("select emq.guard_commit(%s, %s)", held.id, held.fence) == "guarded"
    assert ledger.operate("cancel", held.id) == "busy"
    other.conn.commit()
    assert ledger.operate("cancel", held.id) == "done"
    assert ledger.column("select n from effect") == [1]
    with refused("EQ001", names="cancelled by an operator"):
        ledger.guard(held)
