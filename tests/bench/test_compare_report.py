"""Medians, spreads, and the ends of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.compare import workloads
from bench.compare.catalogue import Peer, Setting
from bench.compare.record import Cell, Record
from bench.compare.report import percentile, spread, summary, table, trials


def test_a_spread_is_the_median_the_lowest_and_the_highest() -> None:
    assert spread([3.0, None, 1.0, 2.0]) == {
        "median": 2.0, "lowest": 1.0, "highest": 3.0, "runs": 3,
    }  # fmt: skip
    assert spread([None]) is None


@pytest.mark.parametrize(("part", "value"), [(50, 5.0), (95, 10.0), (99, 10.0), (10, 1.0)])
def test_a_percentile_is_one_of_the_values(part: int, value: float) -> None:
    assert percentile([float(n) for n in range(10, 0, -1)], part) == value


def test_the_ends_of_a_run_are_rates_of_their_own_windows() -> None:
    samples = [(0.0, 0), (1.0, 100), (2.0, 200), (3.0, 250), (4.0, 300)]
    assert workloads._ends(samples, 1.0) == (100.0, 50.0)
    assert workloads._ends(samples, 10.0) == (100.0, 50.0)  # halves, when it was short
    assert workloads._rates(samples) == [100.0, 100.0, 50.0, 50.0]


def test_a_summary_has_the_medians_of_the_rounds_and_every_failure(tmp_path: Path) -> None:
    settings = tuple(Setting(name, f"as {name}", True, True, {}) for name in ("s", "t"))
    peer = Peer("a", "a", "postgresql", "3.11", False, True, 100, None, settings, tmp_path)
    record = Record(tmp_path / "run.jsonl", {}, fresh=False)
    record.add(Cell("a", "s", "drain-1", 0), ok=True, per_second=99.0)
    record.add(Cell("a", "t", "drain-1", 0), ok=False, why="3 of 4 ran")
    for number, rate in ((1, 10.0), (2, 30.0), (3, 20.0)):
        record.add(Cell("a", "s", "drain-1", number), ok=True, per_second=rate)
    for number, found in ((1, [1.0, 2.0, 3.0]), (2, [9.0])):
        cell = Cell("a", "s", "latency", number)
        record.add(cell, ok=True, from_call_ms=found, from_commit_ms=found)
    told = summary(peer, record)
    assert told["drain_1"] == {"median": 20.0, "lowest": 10.0, "highest": 30.0, "runs": 3}
    assert told["latency_ms"]["p99"] == 9.0  # over all rounds
    assert told["failed"] == [
        {"setting": "t", "workload": "drain-1", "round": 0, "why": "3 of 4 ran"}
    ]
    assert "20" in table([told])
    assert trials([told]).startswith("> a ")
