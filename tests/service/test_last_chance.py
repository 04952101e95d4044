"""`emq worker` gives a job on its last chance a process of its own."""

from __future__ import annotations

import signal

import psutil
import pytest

from tests.service.conftest import Place

pytestmark = pytest.mark.faults


def test_a_job_that_has_killed_a_worker_is_no_danger_to_the_next_one(place: Place) -> None:
    (job,) = place.enqueue("dies_once", _max_attempts=2)
    assert place.start("--lease", "0.5").wait() == -signal.SIGKILL
    worker = place.start()
    place.until_true("select exists (select from emq.archive where id = %s)", job)
    ((pid, stalled),) = place.rows("select (result #>> '{}')::int, stalled from emq.archive")
    assert stalled == 1
    assert [child.pid for child in psutil.Process(worker.process.pid).children()] == [pid]
