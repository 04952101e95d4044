"""One field case, and where its tests are."""

from __future__ import annotations

from dataclasses import dataclass

CASES_ = "tests/cases/"
CRON = "tests/cron/test_pg_cron.py::"
EFFECTS = "tests/effects/"
FAULTS = "tests/faults/"
PROTOCOL = "tests/protocol/"
SERVICE = "tests/service/"
WORKER = "tests/worker/"


@dataclass(frozen=True, slots=True)
class Case:
    """`trouble` is what befell others, `behaviour` what is promised here.

    `tests` are node ids without parameters; `left` says what of it is not built yet.
    """

    number: int
    title: str
    trouble: str
    behaviour: str
    tests: tuple[str, ...]
    left: str = ""
