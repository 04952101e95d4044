"""Finished cells, one line of JSON each, written at once: a run that ends early can go on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.compare.catalogue import Failed


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One measurement: of this peer, so set, for the n-th time (0 is a trial)."""

    peer: str
    setting: str
    workload: str
    round: int


class Record:
    """The lines of a run. The first says how it was asked for; the rest are cells."""

    def __init__(self, path: Path, asked: dict[str, Any], *, fresh: bool) -> None:
        self.path = path
        self.done: dict[Cell, dict[str, Any]] = {}
        if fresh or not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"asked": asked}) + "\n")
            return
        lines = _read(path)
        begun = lines[0].get("asked") if lines else None
        if begun != asked:
            raise Failed(
                f"{path} was begun with {json.dumps(begun)}, not {json.dumps(asked)}:"
                " ask for the same, or begin anew with --fresh"
            )
        for line in lines[1:]:
            cell = Cell(line["peer"], line["setting"], line["workload"], line["round"])
            self.done[cell] = line
        if not path.read_text().endswith("\n"):  # killed within a line, which is void
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def has(self, cell: Cell) -> bool:
        """Whether it is measured; one that failed is tried again by the next run."""
        return bool(self.done.get(cell, {}).get("ok"))

    def add(self, cell: Cell, **told: Any) -> None:
        line = {
            "peer": cell.peer, "setting": cell.setting, "workload": cell.workload,
            "round": cell.round, **told,
        }  # fmt: skip
        self.done[cell] = line
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")


def _read(path: Path) -> list[dict[str, Any]]:
    lines = []
    for text in path.read_text().splitlines():
        try:
            lines.append(json.loads(text))
        except ValueError:
            break
    return lines
