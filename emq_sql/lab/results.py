"""What was found in each cell, and how it is printed: for people, as JSON, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from emq_sql.errors import BadSetting
from emq_sql.lab.grid import CELLS, NONE, POINTS, STYLES, Cell, Found

_BEGIN = "<!-- written by `emq lab --write`: begin -->"
_END = "<!-- written by `emq lab --write`: end -->"


@dataclass(frozen=True, slots=True)
class Result:
    """One cell as the tables say it; `runs` counts claims, `refusals` stale calls on record."""

    cell: Cell
    found: Found
    effects: int
    runs: int
    refusals: int

    @property
    def expected(self) -> bool:
        """Whether it came to what its reason explains."""
        return self.found == self.cell.found


def judged(effects: int, *, completed: bool) -> Found:
    """What so many effects mean for a job."""
    if effects > 1:
        return "done twice"
    if not completed:
        return "not done yet"
    return "done once" if effects else "lost"


def table(found: Mapping[int, Found]) -> list[list[str]]:
    """The grid by rows, titles first: a row for each crash point, a column for each style."""
    by_pair = {(cell.point, cell.style): found.get(cell.number, "") for cell in CELLS}
    rows = [["", *(style.name for style in STYLES)]]
    for point in POINTS:
        cells = [by_pair.get((point, style), NONE) for style in STYLES]
        if any(text not in {"", NONE} for text in cells):
            rows.append([point.name, *cells])
    return rows


def for_people(results: Sequence[Result]) -> list[str]:
    """The grid, then the reason of each cell."""
    rows = table({result.cell.number: result.found for result in results})
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    width = max(len(style.name) for style in STYLES)
    for point in POINTS:
        here = [result for result in results if result.cell.point is point]
        if here:
            lines += ["", f"{point.name}: {point.about}"]
        for result in here:
            cell = result.cell
            lines.append(f"  {cell.style.name.ljust(width)}  {result.found}. {cell.reason}")
            if not result.expected:
                lines.append(f"  {' ' * width}  <-- NOT AS EXPECTED: {cell.found}")
    return lines


def for_programs(results: Sequence[Result]) -> list[dict[str, Any]]:
    """An object for each cell."""
    return [
        {
            "point": result.cell.point.name, "style": result.cell.style.name,
            "found": result.found, "expected": result.cell.found, "as_expected": result.expected,
            "reason": result.cell.reason, "effects": result.effects, "runs": result.runs,
            "refusals": result.refusals,
        }
        for result in results
    ]  # fmt: skip


def markdown(found: Mapping[int, Found]) -> str:
    """The grid and the reasons as a marked block of a page."""
    titles, *rows = table(found)
    lines = [_BEGIN, _row(titles), _row(["---"] * len(titles))]
    for row in rows:
        lines.append(_row([row[0], *(_shown(text) for text in row[1:])]))
    for point in POINTS:
        lines += ["", f"**{point.name[0].upper()}{point.name[1:]}**: {point.about}.", ""]
        for cell in CELLS:
            if cell.point is point and cell.number in found:
                lines.append(f"- {cell.style.name}: {found[cell.number]}. {cell.reason}")
    return "\n".join([*lines, _END])


def written_into(page: str, block: str) -> str:
    """The page with this block in the place of its own; raises BadSetting when it has none."""
    old = block_of(page)
    return page.replace(old, block)


def block_of(page: str) -> str:
    """The marked block of the page; raises BadSetting when it has none."""
    begin, end = page.find(_BEGIN), page.find(_END)
    if not 0 <= begin < end:
        raise BadSetting(
            "The page has no place for the grid.", hint=f"Put two lines there: {_BEGIN} and {_END}"
        )
    return page[begin : end + len(_END)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _shown(text: str) -> str:
    return text if text in {"done once", NONE} else f"**{text}**"
