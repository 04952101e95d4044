"""The house rules that no other tool holds: small rooms, one word for a thing, nothing unsafe."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from pathlib import Path

import emq_sql
from emq_sql import errors
from tests.layout.files import MIGRATIONS, PACKAGE, modules, named, statements, texts

LONGEST_FILE = 400
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "base", "core", "misc"}

PEERS_WORDS = re.compile(r"visibility[ _]timeout|\bdlq\b|\bnack\b|\bdequeue|\bunstick\b", re.I)
PEERS_WORDS_IN_CODE = re.compile(rf"{PEERS_WORDS.pattern}|\back(s|ed)?\b|\brescue|\bzombie", re.I)
MAY_NAME_PEERS_WORDS = {"docs/glossary.md"}

UNSAFE_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve"}
UNSAFE_CALLS = {"eval", "exec", "__import__", "import_module", "import_string", "run_path"}
# An operator names the module of the application on the command line; Alembic's environment and
# nothing else is loaded by a name that is data.
MAY_IMPORT_BY_NAME = "emq_sql/cli/"

# Queue tables are reached through emq_sql.protocol; the demo reads its account as a user would.
# Advice to people may name a statement, but then it does not begin with it.
SQL_OF_THE_LEDGER = re.compile(
    r"\s*(select|with|insert|update|delete|call|truncate|lock)\b.*\bemq\.", re.I | re.S
)
MAY_SPEAK_SQL = ("emq_sql/protocol/", "emq_sql/demo/", "migrations/")


def trees() -> list[tuple[Path, ast.Module]]:
    return [(path, ast.parse(path.read_text(), str(path))) for path in modules()]


def test_there_is_something_to_look_at() -> None:
    assert len(modules()) > 10
    assert len(statements()) > 10


def test_no_production_file_is_longer_than_four_hundred_lines() -> None:
    lengths = {named(p): len(p.read_text().splitlines()) for p in [*modules(), *statements()]}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_no_file_or_folder_has_a_name_that_says_nothing() -> None:
    paths = [p for room in (PACKAGE, MIGRATIONS) for p in room.rglob("*")]
    assert [named(p) for p in paths if p.stem.strip("_").lower() in VAGUE_NAMES] == []


def test_nothing_is_unpickled_evaluated_or_imported_by_a_name_that_is_data() -> None:
    found = []
    for path, tree in trees():
        for node in ast.walk(tree):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name.split(".")[0] for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module.split(".")[0]]
            if unsafe := UNSAFE_MODULES & set(names):
                found.append(f"{named(path)}:{node.lineno} imports {unsafe}")  # type: ignore[attr-defined]
            if isinstance(node, ast.Call):
                called = getattr(node.func, "attr", getattr(node.func, "id", ""))
                by_name = called == "import_module" and named(path).startswith(MAY_IMPORT_BY_NAME)
                if called in UNSAFE_CALLS and not by_name:
                    found.append(f"{named(path)}:{node.lineno} calls {called}")
    assert found == []


def test_only_the_command_imports_by_name_its_own_parts_and_what_the_operator_wrote() -> None:
    found = {named(path) for path in modules() if "import_module(" in path.read_text()}
    assert found == {"emq_sql/cli/main.py", "emq_sql/cli/application.py"}


def test_only_the_protocol_speaks_sql_to_the_ledger() -> None:
    found = [
        f"{named(path)}:{node.lineno}"
        for path, tree in trees()
        if not named(path).startswith(MAY_SPEAK_SQL)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and SQL_OF_THE_LEDGER.match(node.value)
    ]
    assert found == []


def test_each_thing_is_called_by_its_own_word() -> None:
    found = []
    for path in texts():
        if named(path) in MAY_NAME_PEERS_WORDS:
            continue
        words = PEERS_WORDS if path.suffix == ".md" else PEERS_WORDS_IN_CODE
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if word := words.search(line):
                found.append(f"{named(path)}:{number}: {word.group()}")
    assert found == []


def test_the_public_names_are_few_sorted_and_there() -> None:
    public = emq_sql.__all__

    def order(name: str) -> tuple[int, str]:
        # The order that ruff's RUF022 writes: constants, classes, the rest.
        return (0 if name.isupper() else 1 if name[0].isupper() else 2), name

    assert public == sorted(public, key=order)
    assert len(set(public)) == len(public) <= 20
    assert [name for name in public if not hasattr(emq_sql, name)] == []


def error_classes() -> dict[str, type[errors.EmqError]]:
    return {
        name: member
        for name, member in inspect.getmembers(errors, inspect.isclass)
        if issubclass(member, errors.EmqError)
    }


def drawn_tree() -> dict[str, tuple[str | None, str | None]]:
    """Each name drawn in the docstring of errors.py, with its parent and code as drawn."""
    drawn: dict[str, tuple[str | None, str | None]] = {}
    above: list[tuple[int, str]] = []
    for line in inspect.getdoc(errors).splitlines():  # type: ignore[union-attr]
        if not (found := re.match(r"(?P<rails>[ │├└─]*)(?P<name>[A-Z]\w+)(?P<rest>$| .*)", line)):
            continue
        rails = found["rails"]
        if not (rails.endswith("── ") or found["name"] == "EmqError"):
            continue
        while above and above[-1][0] >= len(rails):
            above.pop()
        code = re.search(r"EMQ\d{3}", found["rest"])
        drawn[found["name"]] = (above[-1][1] if above else None, code and code.group())
        above.append((len(rails), found["name"]))
    return drawn


def test_each_error_has_a_code_of_its_own() -> None:
    codes = Counter(member.code for member in error_classes().values())
    assert [code for code, count in codes.items() if count > 1] == []
    assert [code for code in codes if not re.fullmatch(r"EMQ\d{3}", code)] == []


def test_the_drawn_tree_of_errors_is_the_tree_of_classes() -> None:
    drawn, classes = drawn_tree(), error_classes()
    assert set(drawn) == set(classes)
    for name, (parent, code) in drawn.items():
        assert parent is None or classes[name].__bases__[0].__name__ == parent, name
        assert code is None or classes[name].code == code, name


def test_an_error_drawn_without_a_code_is_only_a_family() -> None:
    parents = {parent for parent, _ in drawn_tree().values()}
    assert [
        name for name, (_, code) in drawn_tree().items() if not code and name not in parents
    ] == []
