"""One measurement that is repeated: a workload in one of its cases."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.suite.stage import Stage

Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cell:
    """`run` measures it once. `main` names the figure that matters most; `beside` is the case of
    the same round whose main figure this one is divided by (`workload:case`).
    """

    workload: str
    case: str
    what: str
    main: str
    run: Callable[[Stage], Figures]
    beside: str | None = None

    @property
    def name(self) -> str:
        return f"{self.workload}:{self.case}"


class Unsound(Exception):
    """The counts of a run do not add up: its rate would mean nothing."""


def milliseconds(seconds: list[float]) -> Figures:
    """The percentiles of what was measured, in milliseconds, by nearest rank."""
    ordered = sorted(seconds)
    return {
        f"p{percent}_ms": round(
            ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)] * 1000, 3
        )
        for percent in (50, 95, 99)
    }
