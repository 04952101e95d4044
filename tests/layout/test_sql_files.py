"""Each SQL file says what it promises, and makes one thing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.layout.files import STEPS, named, statements

FUNCTION = re.compile(
    r"^\s*create\s+(?:or\s+replace\s+)?(?:function|procedure)\s+(\S+?)\s*\(", re.M | re.I
)
TABLE = re.compile(r"^create\s+(?:unlogged\s+)?table\b", re.M | re.I)
VIEW = re.compile(r"^create\s+(?:or\s+replace\s+)?view\b", re.M | re.I)
OF_A_FUNCTION = ("Promise", "Parameters", "Locks", "Index")


def header(path: Path) -> str:
    """The comment lines at the top of the file."""
    lines = path.read_text().splitlines()
    end = next((at for at, line in enumerate(lines) if not line.startswith("--")), len(lines))
    return "\n".join(lines[:end])


def words_of(path: Path) -> list[str]:
    return re.findall(r"^-- ([A-Z][a-z]+):", header(path), re.M)


def functions_of(path: Path) -> list[str]:
    return FUNCTION.findall(path.read_text())


FUNCTION_FILES = [path for path in statements() if functions_of(path)]
TABLE_FILES = [p for p in statements() if TABLE.search(p.read_text()) and p not in FUNCTION_FILES]
VIEW_FILES = [p for p in statements() if VIEW.search(p.read_text()) and p not in FUNCTION_FILES]


def test_there_are_functions_tables_and_views_to_look_at() -> None:
    assert len(FUNCTION_FILES) > 10
    assert TABLE_FILES
    assert VIEW_FILES


@pytest.mark.parametrize("path", statements(), ids=named)
def test_each_file_begins_with_a_comment(path: Path) -> None:
    assert header(path)


@pytest.mark.parametrize("path", FUNCTION_FILES, ids=named)
def test_a_function_file_says_its_promise_parameters_locks_and_index(path: Path) -> None:
    assert [word for word in words_of(path) if word in OF_A_FUNCTION] == list(OF_A_FUNCTION)


@pytest.mark.parametrize("path", FUNCTION_FILES, ids=named)
def test_a_function_file_makes_one_function_and_is_called_like_it(path: Path) -> None:
    names = {name.lower() for name in functions_of(path)}
    assert len(names) == 1
    assert re.sub(r"^\d+_", "", path.stem) == names.pop().rpartition(".")[2]


@pytest.mark.parametrize("path", TABLE_FILES, ids=named)
def test_a_table_file_says_what_it_holds(path: Path) -> None:
    assert "Holds" in words_of(path)


@pytest.mark.parametrize("path", VIEW_FILES, ids=named)
def test_a_view_file_says_what_it_shows(path: Path) -> None:
    assert "Shows" in words_of(path)


def test_each_step_is_numbered_without_a_gap_and_has_its_way_back() -> None:
    steps = sorted(path for path in STEPS.iterdir() if path.is_dir())
    assert steps
    for number, step in enumerate(steps, 1):
        assert re.fullmatch(rf"{number:04d}_(pre|post)_[a-z0-9_]+", step.name), step.name
        assert sorted((step / "up").rglob("*.sql")), named(step)
        assert sorted((step / "down").rglob("*.sql")), named(step)


def test_every_folder_of_statements_is_a_step() -> None:
    assert [
        named(p)
        for p in STEPS.rglob("*.sql")
        if p.relative_to(STEPS).parts[1] not in ("up", "down")
    ] == []
