"""A connection falls silent and nobody is told: the worker notices, and nothing hangs on it."""

from __future__ import annotations

import signal

from tests.faults.processes import Field, wait_for
from tests.plugins.proxy import proxied


def test_a_worker_whose_loop_hears_nothing_still_ends_in_order(field: Field) -> None:
    with proxied(field.dsn) as proxy:
        (job,) = field.enqueue("hold")
        # Its leases are extended all the while, so nobody else could ever take the job.
        worker = field.start(dsn=proxy.dsn, lease=3600, concurrency=2, grace=0)
        field.until_started(1)
        proxy.silence(b"emq.claim(")
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
