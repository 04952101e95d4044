"""The table of field cases names tests that exist, and the page says the same."""

from __future__ import annotations

import importlib
from collections import Counter

from tests.cases.table import CASES, page
from tests.faults.processes import ROOT

PAGE = ROOT / "docs" / "explain" / "field-cases.md"
NUMBERS = {
    1, 2, 3, *range(5, 18), *range(20, 25), 26, 27, 28, *range(33, 55), 61, 62,
}  # fmt: skip


def test_each_case_is_there_once_and_has_a_test() -> None:
    assert Counter(case.number for case in CASES) == Counter(NUMBERS)
    assert [case.number for case in CASES] == sorted(NUMBERS)
    assert [case.number for case in CASES if not case.tests] == []


def test_each_test_that_the_table_names_is_collected() -> None:
    missing = []
    for path, _, name in sorted({test.partition("::") for case in CASES for test in case.tests}):
        file = ROOT / path
        assert file.is_file() and file.name.startswith("test_"), path
        module = importlib.import_module(path.removesuffix(".py").replace("/", "."))
        if not (name.startswith("test_") and callable(getattr(module, name, None))):
            missing.append(f"{path}::{name}")
    assert missing == []


def test_the_page_says_what_the_table_says() -> None:
    assert PAGE.read_text() == page(), "python -m tests.cases.table > docs/explain/field-cases.md"
