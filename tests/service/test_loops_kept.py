"""A worker whose control loops fail: it mends them, or it ends so that its supervisor sees it."""

from __future__ import annotations

import json

import pytest

from tests.service.conftest import Place

pytestmark = pytest.mark.faults

LOOPS = ("bell", "keeper", "upkeep", "watch")


@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_that_cannot_be_kept_alive_ends_the_worker_and_costs_its_jobs_nothing(
    place: Place, loop: str
) -> None:
    worker = place.start(AN_APP_BREAKS=loop, AN_APP_BREAKS_TIMES="1000")
    (job,) = place.enqueue("deaf")
    place.until_running(1)
    place.touch("break")
    assert worker.wait() == 1
    said = worker.said()
    assert said.count("Traceback") == 4
    assert f"The loop '{loop}' of this worker cannot be kept alive" in said
    assert "[EMQ601]" in said
    assert place.rows("select id, attempts, stalled, failures from emq.pending") == [(job, 1, 0, 0)]


def test_a_loop_that_fails_some_times_is_mended_and_the_worker_works_on(place: Place) -> None:
    worker = place.start(AN_APP_BREAKS="upkeep", AN_APP_BREAKS_TIMES="3")
    place.touch("break")
    place.until(lambda: worker.said().count("RuntimeError: broken") == 3, "three failures")
    # Promoted by the upkeep that runs again.
    place.rows("""select emq.enqueue('default', 'says', '{"text": "hello"}', p_delay => '0.1 s')""")
    place.until_true("select count(*) = 1 from emq.archive")
    upkeep = json.loads(worker.ask("/")[1])["loops"]["upkeep"]
    assert (upkeep["state"], upkeep["restarts"]) == ("running", 3)
    assert worker.status("/live") == 200
