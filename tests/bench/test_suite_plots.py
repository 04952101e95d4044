"""Records and plots: what is drawn is what was recorded, and every plot is an image."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from bench import plots
from bench.suite.cell import Cell, Figures
from bench.suite.drawing import Bar, Line, bars, lines
from bench.suite.record import Record
from bench.suite.stage import Stage

SVG = "{http://www.w3.org/2000/svg}"


def never(_: Stage) -> Figures:
    raise AssertionError("nothing is measured here")


def cell(workload: str, case: str, main: str = "per_second", beside: str | None = None) -> Cell:
    return Cell(workload, case, f"{workload} <{case}>", main, never, beside)


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Two rounds of two cells; in the second round one of them failed."""
    one, two = cell("drain", "noop-1"), cell("drain", "noop-2", beside="drain:noop-1")
    about = {"postgresql": "18.6", "machine": "X", "cores": 2, "runs": 3}
    made = Record(tmp_path / "new" / "session.json", about, [one, two, cell("enqueue", "single")])
    for number, (first, second) in enumerate([(100, 150), (200, 400), (400, 400)], 1):
        made.add(one, number, {"per_second": first, "wal_bytes": 10.0})
        if number != 2:
            made.add(two, number, {"per_second": second, "wal_bytes": 11.0})
        else:
            made.fail(two, number, RuntimeError("no server"))
    return made


def test_a_record_is_on_disk_after_each_run_with_medians_spread_and_ratios_within_rounds(
    record: Record,
) -> None:
    told = json.loads(record.path.read_text())
    one, two = told["cells"]  # what was not measured is left out
    assert one["median"]["per_second"] == 200
    assert (one["lowest"]["per_second"], one["highest"]["per_second"]) == (100, 400)
    assert two["beside"] == {
        "cell": "drain:noop-1", "median": 1.25, "lowest": 1.0, "highest": 1.5,
    }  # fmt: skip
    assert [run["round"] for run in two["runs"]] == [1, 3]
    assert told["failures"] == [
        {"cell": "drain:noop-2", "round": 2, "error": "RuntimeError: no server"}
    ]


def test_what_a_session_has_is_drawn_and_the_session_is_kept_beside_it(
    record: Record, tmp_path: Path
) -> None:
    into = tmp_path / "plots"
    assert plots.main([str(record.path), "--into", str(into)]) == 0
    drawn = {path.name for path in into.iterdir()}
    assert drawn == {"drain.svg", "wal.svg", plots.KEPT}
    said = texts((into / "drain.svg").read_text())
    assert {"drain <noop-1>", "drain <noop-2>", "200", "275"} <= said
    assert json.loads((into / plots.KEPT).read_text()) == json.loads(record.path.read_text())
    again = tmp_path / "again"
    assert plots.main([str(into / plots.KEPT), "--into", str(again)]) == 0
    assert (again / "drain.svg").read_text() == (into / "drain.svg").read_text()


@pytest.mark.parametrize("logarithmic", [False, True])
def test_a_longer_bar_is_a_larger_figure(logarithmic: bool) -> None:
    rows = [Bar("a", 10, 9, 11), Bar("b", 1000, 900, 1100), Bar("c", 0, 0, 0)]
    image = ElementTree.fromstring(bars("t", "n", rows, logarithmic=logarithmic))
    a, b, c = (float(rect.attrib["width"]) for rect in image.iter(f"{SVG}rect"))
    assert c == 0 < a < b


def test_a_line_goes_through_its_points_from_left_to_right() -> None:
    rows = [Line("p50", [(1_000, 1.0), (100_000, 1.0), (1_000_000, 2.0)])]
    image = ElementTree.fromstring(lines("t", "n", rows, across="jobs", logarithmic=True))
    (line,) = image.iter(f"{SVG}polyline")
    points = [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
    (x1, y1), (x2, y2), (x3, y3) = points
    assert x1 < x2 < x3 and y1 == y2 > y3


def texts(svg: str) -> set[Any]:
    return {text.text for text in ElementTree.fromstring(svg).iter(f"{SVG}text")}
