"""Runs the test that must fail on a mutant, in a process of its own, on a running server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.installing import VARIABLE
from tests.mutants.mutant import Mutant

ROOT = Path(__file__).resolve().parents[2]
_COMMAND = (sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=line", "-p",
            "no:cacheprovider", "-p", "no:xdist")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """killed: the test ran and failed; said: how, in one line."""

    mutant: Mutant
    killed: bool
    said: str


def judge(mutant: Mutant, dsn: str) -> Verdict:
    """Whether the named test fails on this mutant. An error in collection is no kill."""
    done = subprocess.run(
        [*_COMMAND, mutant.test],
        env=_environment() | {VARIABLE: mutant.name, "EMQ_SQL_TEST_DSN": dsn},
        capture_output=True, text=True, check=False, cwd=ROOT, timeout=240,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    told = done.stdout.strip().splitlines() or done.stderr.strip().splitlines() or ["nothing"]
    failed = re.search(r"\b\d+ failed\b", told[-1])
    # An error at setup is the schema that could not be installed, or a table that is out of date.
    killed = done.returncode == 1 and failed is not None
    return Verdict(mutant, killed, told[-1] if killed else "\n".join(told[-15:]))


def _environment() -> dict[str, str]:
    # What pytest and xdist tell their own workers is not for this run.
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
