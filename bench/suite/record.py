"""What a session found, as JSON: each run of each cell, medians and spread, and ratios in a round.

The file is written anew after each run, so that a session that is ended early has told what it saw.
"""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.suite.cell import Cell, Figures


@dataclass(slots=True)
class Record:
    """`about` is what holds for the whole session; runs of a cell are in the order of rounds."""

    path: Path
    about: dict[str, Any]
    cells: list[Cell]
    runs: dict[str, list[Figures]] = field(default_factory=dict)
    failures: list[dict[str, Any]] = field(default_factory=list)

    def add(self, cell: Cell, number: int, figures: Figures) -> None:
        self.runs.setdefault(cell.name, []).append({"round": number, **figures})
        self.write()

    def fail(self, cell: Cell, number: int, error: BaseException) -> None:
        said = f"{type(error).__name__}: {error}"
        self.failures.append({"cell": cell.name, "round": number, "error": said})
        self.write()

    def write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.told(), indent=1) + "\n")
        new.replace(self.path)

    def told(self) -> dict[str, Any]:
        cells = [self._cell(cell) for cell in self.cells if cell.name in self.runs]
        return {**self.about, "cells": cells, "failures": self.failures}

    def _cell(self, cell: Cell) -> dict[str, Any]:
        runs = self.runs[cell.name]
        told: dict[str, Any] = {
            "workload": cell.workload, "case": cell.case, "what": cell.what, "main": cell.main,
            **_middle(runs),
        }  # fmt: skip
        if cell.beside is not None and (ratios := self._ratios(cell, cell.beside)):
            told["beside"] = {"cell": cell.beside, **_spread(ratios)}
        return told | {"runs": runs}

    def _ratios(self, cell: Cell, beside: str) -> list[float]:
        """Of the main figures, in each round in which both were measured."""
        others = {run["round"]: run for run in self.runs.get(beside, [])}
        return [
            run[cell.main] / others[run["round"]][cell.main]
            for run in self.runs[cell.name]
            if run["round"] in others and others[run["round"]][cell.main]
        ]


def _middle(runs: list[Figures]) -> dict[str, Any]:
    """Median, lowest and highest of each figure that is one number."""
    names = [
        name for name, value in runs[0].items()
        if isinstance(value, (int, float)) and name != "round"
    ]  # fmt: skip
    spreads = {name: _spread([run[name] for run in runs]) for name in names}
    return {
        which: {name: spread[which] for name, spread in spreads.items()}
        for which in ("median", "lowest", "highest")
    }


def _spread(values: list[float]) -> dict[str, float]:
    return {
        "median": _short(statistics.median(values)),
        "lowest": _short(min(values)),
        "highest": _short(max(values)),
    }


def _short(value: float) -> float:
    return round(value, 4)
