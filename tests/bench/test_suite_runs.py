"""The suite is run for real with tiny counts: its JSON has its shape, and its counts add up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench import settings, workloads
from bench.suite.cell import milliseconds

ROOT = Path(__file__).resolve().parents[2]
COSTS = {"server_cpu_us", "wal_bytes", "commits"}
DRAINS = {"drain:plain", "drain:noop-1", "drain:noop-2", "drain:waits-1", "drain:waits-2"}

Cells = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `python -m bench --quick --runs 1 --only drain,enqueue` has written."""
    out = tmp_path_factory.mktemp("bench") / "session.json"
    done = subprocess.run(
        [sys.executable, "-m", "bench", "--quick", "--runs", "1", "--only", "drain,enqueue",
         "--out", str(out)],
        cwd=ROOT, env={k: v for k, v in os.environ.items() if not k.startswith("EMQ_DSN")},
        capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(out.read_text())
    return found


@pytest.fixture(scope="module")
def cells(session: dict[str, Any]) -> Cells:
    return {f"{cell['workload']}:{cell['case']}": cell for cell in session["cells"]}


def test_a_session_says_on_what_and_with_which_settings_it_ran(session: dict[str, Any]) -> None:
    about = {"emq_sql", "postgresql", "machine", "cores", "system", "python", "date", "seconds"}
    assert about <= set(session)
    assert session["options"]["fsync"] and session["options"]["synchronous_commit"]
    assert session["settings"]["drain_jobs"] == settings.QUICK.drain_jobs
    assert session["settings"]["noop_worker"] == list(settings.NOOP_WORKER)
    assert (session["quick"], session["runs"], session["failures"]) == (True, 1, [])


def test_each_cell_has_one_run_with_its_rate_and_its_costs(cells: Cells) -> None:
    assert set(cells) == DRAINS | {"enqueue:single", "enqueue:bulk"}
    for name, cell in cells.items():
        (run,) = cell["runs"]
        assert run["round"] == 1 and run[cell["main"]] > 0
        wanted = COSTS | {"jobs", "seconds", "per_second"}
        wanted |= {"worker_cpu_ms", "life_wal_bytes"} if name in DRAINS else {"producer_cpu_ms"}
        assert wanted <= set(run), name
        for which in ("median", "lowest", "highest"):
            assert cell[which] == {key: run[key] for key in cell[which]}


def test_all_jobs_of_a_drain_are_counted_and_written_to_the_wal(cells: Cells) -> None:
    for name in DRAINS:
        (run,) = cells[name]["runs"]
        given = settings.QUICK.waiting_jobs if "waits" in name else settings.QUICK.drain_jobs
        assert 0 < run["jobs"] <= given
        # Of a thousand jobs the seconds, in milliseconds, say the rate to two digits only.
        assert run["jobs"] / run["per_second"] == pytest.approx(run["seconds"], abs=0.0011)
        assert run["life_wal_bytes"] > run["wal_bytes"] > 100  # a row of the archive at least
        assert 0 < run["commits"] <= 4


def test_a_single_enqueue_is_one_commit_and_a_bulk_one_for_each_batch(cells: Cells) -> None:
    (single,), (bulk,) = cells["enqueue:single"]["runs"], cells["enqueue:bulk"]["runs"]
    assert single["commits"] == pytest.approx(1, abs=0.1)
    assert 0 < bulk["commits"] * settings.QUICK.bulk_batch < 4  # autovacuum may commit meanwhile
    assert bulk["jobs"] % settings.QUICK.bulk_batch == 0


def test_two_workers_are_shown_beside_one(cells: Cells) -> None:
    beside = cells["drain:noop-2"]["beside"]
    assert beside["cell"] == "drain:noop-1"
    rates = [cells[name]["runs"][0]["per_second"] for name in ("drain:noop-2", "drain:noop-1")]
    assert beside["median"] == pytest.approx(rates[0] / rates[1], abs=0.001)


def test_every_cell_has_a_name_of_its_own_and_is_compared_with_one_that_exists() -> None:
    for sizes in (settings.FULL, settings.QUICK):
        cells = workloads.cells(sizes, huge=True)
        names = [cell.name for cell in cells]
        assert len(set(names)) == len(names) > 20
        assert {cell.beside for cell in cells if cell.beside} <= set(names)


def test_percentiles_are_by_nearest_rank() -> None:
    hundred = [n / 1000 for n in range(100, 0, -1)]
    assert milliseconds(hundred) == {"p50_ms": 50.0, "p95_ms": 95.0, "p99_ms": 99.0}
    assert milliseconds([0.007]) == {"p50_ms": 7.0, "p95_ms": 7.0, "p99_ms": 7.0}
