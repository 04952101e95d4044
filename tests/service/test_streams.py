"""Standard streams that nobody reads, that are closed, or that a handler closes."""

from __future__ import annotations

import signal

import pytest

from tests.service.conftest import Place

pytestmark = pytest.mark.faults

KINDS = {"threads": ("--concurrency", "2"), "processes": ("--processes", "2")}
DONE = "select count(*) = %s from emq.archive"


@pytest.fixture(params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> tuple[str, ...]:
    return KINDS[request.param]


def test_a_log_that_nobody_reads_costs_no_lease_and_no_orderly_end(
    place: Place, kind: tuple[str, ...]
) -> None:
    worker = place.started(*kind, "--lease", "1", AN_APP_UNREAD="yes")
    (long,) = place.enqueue("hold")
    place.until_running(1)
    place.enqueue("says", 40, text="x" * 5000)  # more than a pipe holds
    place.until_true(DONE, 40)
    extended = "select lease_deadline > %s from emq.ledger"
    ((deadline,),) = place.rows("select lease_deadline from emq.ledger")
    place.until_true(extended, deadline)
    place.touch()
    place.until_true(DONE, 41)
    assert place.rows("select attempts from emq.archive where id = %s", long) == [(1,)]
    assert worker.status("/live") == 200
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0


def test_what_was_printed_for_nobody_does_not_hold_up_the_end(place: Place) -> None:
    worker = place.started(AN_APP_UNREAD="yes")
    place.enqueue("says", 40, text="x" * 5000)
    place.until_true(DONE, 40)
    # A print of little goes into the buffer of stdout, and from there at the end.
    place.enqueue("prints_a_little", text="x")
    place.until_true(DONE, 41)
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0


def test_closed_standard_streams_are_the_null_device_and_no_connection(
    place: Place, kind: tuple[str, ...]
) -> None:
    place.enqueue("prints", 10, text="x" * 10_000)
    worker = place.start(*kind, "--burst", AN_APP_CLOSED="yes")
    assert worker.wait() == 0
    assert place.rows("select count(*) from emq.archive") == [(10,)]
    assert (place.folder / "streams").read_text() == "/dev/null /dev/null /dev/null"
    assert worker.said() == ""


def test_a_handler_that_closes_the_streams_and_the_log_costs_no_line_of_the_log(
    place: Place, kind: tuple[str, ...]
) -> None:
    place.enqueue("closes_the_streams", text="one")
    place.enqueue("says", text="two")
    worker = place.start(kind[0], "1", "--burst")
    assert worker.wait() == 0
    for line in ("says one", "says two", "has ended, exit code 0"):
        assert line in worker.said()


def test_the_last_words_of_a_handler_before_its_process_dies_are_logged(place: Place) -> None:
    place.enqueue("dies", text="farewell")
    worker = place.start("--processes", "1", "--burst")
    assert worker.wait() == 0
    assert place.rows("select attempts from emq.dead") == [(worker.said().count("farewell"),)]
