"""The crash-point lab: its cells come to what their reasons explain, and the page shows them.

EMQ_SQL_LAB=whole runs every cell; the suite runs those that tell a style from the one beside it.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from emq_sql.cli.main import main
from emq_sql.errors import BadSetting
from emq_sql.lab.grid import (
    AFTER,
    CELLS,
    EARLY,
    EFFECT,
    FIRST,
    FROZEN,
    GUARDED,
    INBOX,
    POINTS,
    STYLES,
    WITH,
    Cell,
)
from emq_sql.lab.results import block_of, judged, markdown, written_into
from tests.plugins.databases import Database

PAGE = Path(__file__).parents[2] / "docs" / "explain" / "crash-points.md"
SLICE = {
    (EFFECT, AFTER), (EFFECT, GUARDED), (EFFECT, INBOX), (EARLY, FIRST),
    (FROZEN, AFTER), (FROZEN, WITH), (FROZEN, GUARDED), (FROZEN, INBOX),
}  # fmt: skip
WHOLE = os.environ.get("EMQ_SQL_LAB") == "whole"


def chosen() -> list[Cell]:
    return [cell for cell in CELLS if WHOLE or (cell.point, cell.style) in SLICE]


def lab(database: Database, cells: list[Cell], monkeypatch: pytest.MonkeyPatch) -> Result:
    monkeypatch.setattr("emq_sql.cli.lab.CELLS", cells)
    return CliRunner().invoke(main, ["lab", "--dsn", database.dsn, "--json"])


@pytest.mark.faults
def test_each_cell_comes_to_what_its_reason_explains_and_the_schema_is_gone(
    empty_db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = lab(empty_db, chosen(), monkeypatch)
    assert ran.exit_code == 0, ran.output
    told = json.loads(ran.stdout)
    found = {f"{cell['point']}, {cell['style']}": cell["found"] for cell in told}
    assert found == {str(cell): cell.found for cell in chosen()}
    for cell in told:
        assert cell["effects"] == ["lost", "done once", "done twice"].index(cell["found"])
        stale = cell["point"] == FROZEN.name and cell["style"] in {WITH.name, GUARDED.name}
        assert cell["refusals"] > 0 or not stale, f"{cell}: the stale run left no record"
    left = "select nspname from pg_namespace where nspname like 'emq%'"
    assert empty_db.connect().execute(left).fetchall() == []


def test_two_ways_to_print_are_refused_before_anything_is_done() -> None:
    ran = CliRunner().invoke(main, ["lab", "--json", "--markdown"])
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert ran.stderr.startswith("emq: --json and --markdown")
    assert ran.stderr.count("\n") == 1


@pytest.mark.faults
def test_a_cell_that_comes_to_something_else_is_told_by_the_exit_code(
    empty_db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cell,) = [cell for cell in CELLS if (cell.point, cell.style) == (EARLY, FIRST)]
    ran = lab(empty_db, [replace(cell, found="done once")], monkeypatch)
    assert ran.exit_code == 1
    (told,) = json.loads(ran.stdout)
    assert (told["found"], told["expected"], told["as_expected"]) == ("lost", "done once", False)
    assert f"not as expected: {cell}: lost, not done once" in ran.stderr


def test_the_page_shows_the_grid_of_the_lab() -> None:
    expected = markdown({cell.number: cell.found for cell in CELLS})
    assert block_of(PAGE.read_text()) == expected, "make lab writes it"


def test_only_the_style_that_completes_early_has_no_cell_beside_it() -> None:
    there = {(cell.point, cell.style) for cell in CELLS}
    missing = {(p, s) for p in POINTS for s in STYLES} - there
    assert missing == {(EARLY, style) for style in STYLES if style is not FIRST}


@pytest.mark.parametrize(
    ("effects", "completed", "found"),
    [
        (0, True, "lost"),
        (1, True, "done once"),
        (2, True, "done twice"),
        (2, False, "done twice"),
        (0, False, "not done yet"),
        (1, False, "not done yet"),
    ],
)
def test_rows_are_judged(effects: int, completed: bool, found: str) -> None:
    assert judged(effects, completed=completed) == found


def test_a_page_gets_the_block_between_its_marks_and_keeps_the_rest() -> None:
    page = PAGE.read_text()
    block = markdown({CELLS[0].number: "lost"})
    written = written_into(page, block)
    assert block_of(written) == block
    assert written_into(written, block_of(page)) == page
    with pytest.raises(BadSetting, match="no place for the grid"):
        written_into("no marks", block)
