"""How a worker ends: drained at the first signal, released at the second, by itself in a burst."""

from __future__ import annotations

import signal

import pytest

from tests.service.conftest import Place

pytestmark = pytest.mark.faults

KINDS = {"threads": ("--concurrency", "2"), "processes": ("--processes", "2")}
COUNTS = "select id, attempts, stalled, failures from emq.pending"
DRAINS = [
    ("threads", signal.SIGTERM),
    ("threads", signal.SIGINT),
    ("threads", signal.SIGHUP),
    ("processes", signal.SIGTERM),
]


@pytest.fixture(params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> tuple[str, ...]:
    return KINDS[request.param]


@pytest.mark.parametrize(("slots", "number"), DRAINS)
def test_each_signal_drains_lets_the_short_job_finish_and_releases_the_long_one(
    place: Place, slots: str, number: signal.Signals
) -> None:
    worker = place.started(*KINDS[slots], "--grace", "1")
    (short,) = place.enqueue("hold", key="short")
    (long,) = place.enqueue("deaf")
    place.until_running(2)
    worker.send(number)
    place.until(lambda: "claims nothing more" in worker.said(), "draining")
    (later,) = place.enqueue("says", text="later")
    place.touch("short")
    assert worker.wait() == 0, "although the long one never looked whether it should stop"
    assert place.rows("select id from emq.archive") == [(short,)]
    assert sorted(place.rows(COUNTS)) == sorted([(long, 1, 0, 0), (later, 0, 0, 0)])
    assert place.rows("select name from emq.worker") == []


def test_a_second_signal_releases_at_once(place: Place, kind: tuple[str, ...]) -> None:
    worker = place.started(*kind, "--grace", "3600")
    (job,) = place.enqueue("deaf")
    place.until_running(1)
    worker.send(signal.SIGINT)
    place.until(lambda: "claims nothing more" in worker.said(), "draining")
    assert worker.process.poll() is None
    worker.send(signal.SIGINT)
    assert worker.wait() == 0
    assert place.rows(COUNTS) == [(job, 1, 0, 0)]


def test_a_hangup_that_nohup_has_ignored_stays_ignored(place: Place) -> None:
    worker = place.started(AN_APP_NOHUP="yes")
    (job,) = place.enqueue("hold")
    place.until_running(1)
    worker.send(signal.SIGHUP)
    place.touch()
    place.until_true("select count(*) = 1 from emq.archive where id = %s", job)
    assert worker.status("/ready") == 200
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0


def test_a_burst_ends_when_nothing_is_pending_and_leaves_what_is_scheduled(place: Place) -> None:
    done = place.enqueue("says", 5, text="hello")
    (failed,) = place.enqueue("fails", text="on purpose")
    place.rows("""select emq.enqueue('default', 'says', '{"text": "x"}', p_delay => '1 hour')""")
    worker = place.start("--burst")
    assert worker.wait() == 0
    assert {id for (id,) in place.rows("select id from emq.archive")} == set(done)
    # The retry waits as long as its backoff says: a burst does not wait for it.
    waiting = place.rows("select id, attempts, failures from emq.scheduled order by run_at")
    assert (failed, 1, 1) in waiting and len(waiting) == 2


def test_a_burst_of_nothing_ends(place: Place, kind: tuple[str, ...]) -> None:
    assert place.start(*kind, "--burst").wait() == 0
