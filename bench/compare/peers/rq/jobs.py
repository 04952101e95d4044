"""The function that jobs name."""

from __future__ import annotations

import tally


def noop(n: int, pad: str) -> None:
    tally.ran(n)
