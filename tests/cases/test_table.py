"""The table of field cases names tests that exist, and the page says the same."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

from tests.cases.table import CASES, page
from tests.faults.processes import ROOT

PAGE = ROOT / "docs" / "explain" / "field-cases.md"
NUMBERS = {1, 2, 3, 5, 6, 7, 11, *range(13, 18), 21, 23, 24, 28, *range(36, 45)}


def test_each_case_is_there_once_and_has_a_test() -> None:
    assert Counter(case.number for case in CASES) == Counter(NUMBERS)
    assert [case.number for case in CASES] == sorted(NUMBERS)
    assert [case.number for case in CASES if not case.tests] == []


def test_each_test_that_the_table_names_is_collected() -> None:
    ids = sorted({test for case in CASES for test in case.tests})
    environment = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:xdist",
               "-p", "no:cacheprovider", *ids]  # fmt: skip
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    collected = {line.partition("[")[0] for line in done.stdout.splitlines() if "::" in line}
    assert collected == set(ids)


def test_the_page_says_what_the_table_says() -> None:
    assert PAGE.read_text() == page(), "python -m tests.cases.table > docs/explain/field-cases.md"
