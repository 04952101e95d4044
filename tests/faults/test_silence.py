"""A connection falls silent and nobody is told: the worker notices, and nothing hangs on it."""

from __future__ import annotations

import signal

from tests.faults.processes import Field, wait_for
from tests.plugins.proxy import CLAIM, proxied


def test_a_worker_whose_loop_hears_nothing_still_ends_in_order(field: Field) -> None:
    with proxied(field.dsn) as proxy:
        (job,) = field.enqueue("hold")
        # Its leases are extended all the while, so nobody else could ever take the job.
        worker = field.start(dsn=proxy.dsn, lease=3600, concurrency=2, grace=0)
        field.until_started(1)
        proxy.silence(CLAIM)
        assert proxy.lost.wait(20)
        worker.send(signal.SIGTERM)
        assert worker.wait() == 0
    assert field.rows("select id, attempts, stalled from emq.pending") == [(job, 1, 0)]


def test_a_worker_whose_keeper_hears_nothing_claims_again_on_a_new_connection(
    field: Field,
) -> None:
    with proxied(field.dsn) as proxy:
        field.enqueue("hold")
        worker = field.start(dsn=proxy.dsn, lease=1, concurrency=2)
        field.until_started(1)
        proxy.silence(b"emq.keep(")
        wait_for(lambda: "no extension within its lease" in worker.said(), "lapse", field)
        field.let_go()  # upkeep may have put it back by now, and then it runs again
        field.enqueue("plain", 5)
        field.until_archived(6)
        assert worker.process.poll() is None
    assert field.one("select count(*) from emq.refusal where verb <> 'complete'") == 0


def test_a_worker_that_reaches_no_database_any_more_ends_when_it_is_told_to(field: Field) -> None:
    with proxied(field.dsn) as proxy:
        field.enqueue("deaf")
        worker = field.start(dsn=proxy.dsn, lease=1, grace=0)
        field.until_started(1)
        proxy.freeze()
        worker.send(signal.SIGTERM)
        assert worker.wait() == 1


def test_a_worker_that_cannot_show_itself_keeps_its_leases(field: Field) -> None:
    """The call hangs, and is given up long before the lease of the job that runs meanwhile ends."""
    with proxied(field.dsn) as proxy:
        (job,) = field.enqueue("hold")
        worker = field.start(dsn=proxy.dsn, lease=9, concurrency=2)
        field.until_started(1)
        proxy.silence(b"worker_seen(")
        wait_for(lambda: "the worker cannot show itself" in worker.said(), "silence", field)
        deadline = "select lease_deadline from emq.active"
        was = field.one(deadline)
        field.until(f"select ({deadline}) > %s", was)
        wait_for(lambda: "the worker shows itself again" in worker.said(), "seen", field)
        field.let_go()
        field.until_archived(1)
        assert "lease lost" not in worker.said() and "claiming stops" not in worker.said()
    assert field.rows("select id, attempts, stalled from emq.archive") == [(job, 1, 0)]


def test_a_drain_that_only_waits_for_a_lost_claim_says_so_and_ends_before_its_grace(
    field: Field,
) -> None:
    with proxied(field.dsn) as proxy:
        worker = field.start(dsn=proxy.dsn, concurrency=1, grace=600)
        field.until("select count(*) = 1 from emq.worker")
        proxy.lose_reply_to(CLAIM)
        assert proxy.lost.wait(20)
        worker.send(signal.SIGTERM)
        assert worker.wait() == 0
    assert "for 5 s at most it is asked for what it may hold" in worker.said()
