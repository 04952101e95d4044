"""Live tells whether a restart would help, ready whether jobs are claimed: over HTTP, in the file
and by the exit code of a command; in threads and with child processes alike.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from emq_sql.embedded import Server
from emq_sql.protocol import steps
from emq_sql.worker.health.file import ask
from tests.plugins.own_server import kind_of, own_server_of
from tests.plugins.running import PgServer
from tests.service.conftest import ROOT, Place, Worker

KINDS = {"threads": ("--concurrency", "2"), "processes": ("--processes", "2")}
QUICK = ("--live-within", "5", "--ready-within", "1", "--lease", "1.5")

pytestmark = pytest.mark.faults


@pytest.fixture(params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> tuple[str, ...]:
    return KINDS[request.param]


def asked(*words: str) -> tuple[int, str]:
    """What `emq health` answers."""
    command = [sys.executable, "-m", "emq_sql", "health", *words]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout.strip()


def everything(worker: Worker) -> dict[str, Any]:
    status, text = worker.ask("/")
    assert status == 200
    document: dict[str, Any] = json.loads(text)
    return document


def test_jobs_that_run_for_long_on_all_slots_leave_a_worker_live_and_ready(
    place: Place, kind: tuple[str, ...]
) -> None:
    worker = place.started(*kind, *QUICK)
    place.enqueue("deaf", 2)
    place.until_running(2)
    place.until(lambda: everything(worker)["slots"]["in_use"] == 2, "both slots in use")
    # Longer than the bound on claims and than the lease: the work, with its leases kept, counts.
    place.until(lambda: everything(worker)["last_claim_seconds"] > 2.5, "a while")
    assert worker.ask("/live") == (200, "live\n")
    assert worker.ask("/ready") == (200, "ready\n")
    seen = everything(worker)
    assert (seen["held_jobs"], seen["leases_kept"]) == (2, True)
    place.touch()
    place.until_true("select count(*) = 2 from emq.archive")
    assert worker.status("/ready") == 200


def test_a_control_loop_that_hangs_makes_a_worker_not_live(
    place: Place, kind: tuple[str, ...]
) -> None:
    worker = place.started(*kind, "--live-within", "1", AN_APP_BLOCKS_ON="knows no task")
    place.touch("block")
    place.enqueue("unheard_of")
    place.until(lambda: "the loop main has said nothing for " in worker.ask("/live")[1], "late")
    assert worker.status("/live") == 503
    assert worker.status("/ready") == 503
    assert everything(worker)["why_not"]["live"]
    place.folder.joinpath("block").unlink()
    place.until(lambda: worker.status("/ready") == 200, "ready again")
    assert everything(worker)["unknown_tasks"] == {"unheard_of": 1}


def test_a_frozen_process_does_not_answer_and_the_command_says_no(place: Place) -> None:
    worker = place.started("--health-file", str(place.folder / "health"))
    port = ("--port", str(worker.port))
    assert asked(*port) == (0, "live")
    worker.send(signal.SIGSTOP)
    code, said = asked(*port)
    assert code == 1 and said.startswith("not live: 127.0.0.1:")
    worker.send(signal.SIGCONT)
    place.until(lambda: worker.status("/live") == 200, "live again")


def test_a_worker_that_drains_is_live_and_not_ready(place: Place, kind: tuple[str, ...]) -> None:
    file = place.folder / "health"
    worker = place.started(*kind, *QUICK, "--health-file", str(file), "--grace", "60")
    place.enqueue("deaf")
    place.until_running(1)
    place.until(lambda: ask(file, "ready") == (True, "ready"), "written")
    worker.send(signal.SIGTERM)
    place.until(lambda: worker.status("/ready") == 503, "draining")
    assert worker.ask("/ready")[1] == "not ready: it drains: nothing more is claimed\n"
    assert worker.status("/live") == 200
    place.until(lambda: not ask(file, "ready")[0], "written")
    assert asked("--file", str(file)) == (0, "live")
    place.touch()
    assert worker.wait() == 0
    assert not file.exists()


def test_a_worker_whose_queues_are_paused_says_so_and_is_ready(place: Place) -> None:
    worker = place.started(*QUICK, "--queues", "default,mail")
    place.enqueue("hold")
    place.until_running(1)
    place.rows("select emq.pause('mail')")
    queues = {"default": {"paused": False}, "mail": {"paused": True}}
    place.until(lambda: everything(worker)["queues"] == queues, "paused")
    assert worker.status("/ready") == 200
    place.touch()


@pytest.fixture(scope="module")
def own_server(pg_server: PgServer) -> Iterator[Server]:
    """A server of this module's own, which it may stop."""
    with own_server_of(kind_of(pg_server)) as server:
        yield server


def test_without_the_database_workers_stay_live_and_are_not_ready(
    own_server: Server, tmp_path: Path
) -> None:
    with psycopg.connect(own_server.dsn, autocommit=True) as connection:
        steps.upgrade(connection)
    reader = psycopg.connect(own_server.dsn, autocommit=True)
    place = Place(own_server.dsn, tmp_path, reader)
    try:
        busy, idle, children = (
            place.started(*KINDS["threads"], *QUICK),
            place.started(*KINDS["threads"], *QUICK, "--queues", "idle"),
            place.started(*KINDS["processes"], *QUICK, "--queues", "idle"),
        )
        place.enqueue("deaf", 2)
        place.until_running(2)
        own_server.stop()
        for worker in (busy, idle, children):
            place.until(lambda w=worker: w.status("/ready") == 503, "not ready")
            assert worker.ask("/live") == (200, "live\n")
        assert everything(busy)["loops"]["keeper"]["trouble"]
        # The handlers of the busy one still run, and are all that a restart would have cost.
        assert everything(busy)["held_jobs"] == 2
    finally:
        place.close()
