"""Connects that fail are not remembered."""

from __future__ import annotations

from tests.faults.forking import ForkedField
from tests.faults.processes import wait_for
from tests.plugins.proxy import proxied

TRIES = 12  # for the four connections of a worker: each has failed several times


def test_a_worker_whose_connects_have_failed_many_times_works_on_once_one_succeeds(
    field: ForkedField,
) -> None:
    with proxied(field.dsn) as address:
        (running,) = field.enqueue("c_sleep", seconds=1)
        worker = field.start(dsn=address.dsn, lease=30)
        field.until("select count(*) = 1 from emq.active")
        address.aim("host=/nowhere port=1")
        address.cut()
        wait_for(lambda: address.turned_away >= TRIES, "it tries", field)
        jobs = field.enqueue("quick", 20)
        address.aim(field.dsn)
        field.until_archived(1 + len(jobs))
        assert worker.poll() is None
    assert field.rows("select max(attempts), max(failures) from emq.archive") == [(1, 0)]
    assert field.one("select count(*) from emq.archive where id = %s", running) == 1
