"""The order of the comparison: turns, the choice of settings, going on after an end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.compare.catalogue import Failed, Peer, Setting, chosen
from bench.compare.plan import best, cells
from bench.compare.record import Cell, Record


def setting(name: str, *, record: bool = True) -> Setting:
    return Setting(name, f"as {name}", record, for_drain=True, given={})


def peer(name: str, *settings: Setting, server: str = "postgresql") -> Peer:
    return Peer(name, name, server, "3.11", False, True, 100, None, settings, Path(name))


@pytest.fixture
def record(tmp_path: Path) -> Record:
    return Record(tmp_path / "run.jsonl", {"rounds": 2}, fresh=False)


def run(peers: list[Peer], record: Record, rates: dict[str, float]) -> list[Cell]:
    """Pretend to measure everything: each setting drains at the rate given for it."""
    order = []
    for _, _, cell in cells(peers, record, ["drain-1", "enqueue", "pinned"], 2, 1):
        order.append(cell)
        record.add(cell, ok=True, per_second=rates.get(cell.setting, 1.0))
    return order


def test_the_peers_take_turns_within_each_workload(record: Record) -> None:
    order = run([peer("a", setting("s")), peer("b", setting("s"))], record, {})
    by_workload: dict[tuple[str, int], list[str]] = {}
    for cell in order:
        by_workload.setdefault((cell.workload, cell.round), []).append(cell.peer)
    assert by_workload[("drain-1", 0)] == ["a", "b"]
    assert by_workload[("drain-1", 1)] == ["b", "a"]  # and another one begins each time
    assert by_workload[("drain-1", 2)] == ["a", "b"]
    assert order[-1].workload == "pinned"


def test_a_peer_runs_with_the_setting_that_drained_fastest(record: Record) -> None:
    one = peer("a", setting("slow"), setting("fast"))
    order = run([one], record, {"slow": 10, "fast": 20})
    assert {cell.setting for cell in order if cell.round > 0} == {"fast"}


def test_a_setting_without_a_record_is_tried_and_not_chosen(record: Record) -> None:
    one = peer("a", setting("kept"), setting("deleted", record=False))
    order = run([one], record, {"kept": 10, "deleted": 99})
    assert {cell.setting for cell in order if cell.round == 0} == {"kept", "deleted"}
    chosen_setting = best(one, record)
    assert chosen_setting is not None
    assert chosen_setting.name == "kept"


def test_a_peer_whose_trials_all_failed_is_not_measured(record: Record) -> None:
    one = peer("a", setting("s"))
    for _, _, cell in cells([one], record, ["drain-1"], 2, 1):
        assert cell.round == 0
        record.add(cell, ok=False, why="it would not")
    assert best(one, record) is None


def test_redis_has_no_pinned_horizon(record: Record) -> None:
    order = run([peer("a", setting("s"), server="redis")], record, {})
    assert "pinned" not in {cell.workload for cell in order}


def test_a_rerun_measures_only_what_is_missing(tmp_path: Path) -> None:
    peers = [peer("a", setting("s")), peer("b", setting("s"))]
    first = Record(tmp_path / "run.jsonl", {"rounds": 2}, fresh=False)
    every = run(peers, first, {})
    lines = first.path.read_text().splitlines()
    first.path.write_text("\n".join(lines[:4]) + '\n{"peer": "a", "sett')  # killed within a line
    again = Record(first.path, {"rounds": 2}, fresh=False)
    assert run(peers, again, {}) == every[3:]
    assert [json.loads(line) for line in again.path.read_text().splitlines()]


def test_a_failed_cell_is_tried_again_by_a_rerun(tmp_path: Path) -> None:
    cell = Cell("a", "s", "drain-1", 0)
    Record(tmp_path / "run.jsonl", {}, fresh=False).add(cell, ok=False, why="it would not")
    again = Record(tmp_path / "run.jsonl", {}, fresh=False)
    assert not again.has(cell)
    again.add(cell, ok=True, per_second=1.0)
    assert Record(tmp_path / "run.jsonl", {}, fresh=False).has(cell)


def test_runs_that_were_asked_for_differently_are_not_mixed(tmp_path: Path) -> None:
    Record(tmp_path / "run.jsonl", {"scale": 1}, fresh=False)
    with pytest.raises(Failed, match="--fresh"):
        Record(tmp_path / "run.jsonl", {"scale": 2}, fresh=False)
    Record(tmp_path / "run.jsonl", {"scale": 2}, fresh=True)


def test_every_peer_but_our_own_is_pinned_to_releases() -> None:
    for one in chosen():
        assert one.own or all("==" in line for line in one.requirements.read_text().splitlines()), (
            one.name
        )
        assert len(one.trials) > 1, f"{one.name}: more than one setting is tried"
        assert (one.directory / "adapter.py").is_file()
        assert one.latency is None or one.setting(one.latency)


def test_emq_sql_stands_first_and_an_unknown_peer_is_refused() -> None:
    assert chosen()[0].own
    with pytest.raises(Failed, match="no such peer: nobody"):
        chosen(["nobody"])
