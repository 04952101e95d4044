"""How far an application's own revisions lead the ledger, read from their files."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from alembic.script import ScriptDirectory

from emq_sql.errors import BadSetting

_CALLS = ("upgrade_emq", "downgrade_emq")
_PARAMETERS = ("op", "from_version", "to_version", "schema")


@dataclass(frozen=True, slots=True)
class Reached:
    """The version of the ledger after a revision of the application."""

    version: int
    revision: str


def reached(script: ScriptDirectory, schema: str) -> Reached | None:
    """What the newest revision that moves the ledger leads it to; None: no revision does.

    Read from the text, so no number is taken for another at run time. Raises BadSetting for a call
    whose numbers or schema are not written out.
    """
    for revision in script.walk_revisions():  # the newest first
        versions = [
            version
            for where, version in _moves(Path(revision.path))
            if where == schema and version is not None
        ]
        if versions:
            return Reached(versions[-1], str(revision.revision))
    return None


def _moves(path: Path) -> Iterator[tuple[str, int]]:
    """Schema and version of each call of ours in the way up, in the order of the file."""
    tree = ast.parse(path.read_bytes(), str(path))
    known = _names(tree)
    # With several databases there are upgrade_engine1, upgrade_engine2 ...
    ways_up = (
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("upgrade")
    )
    calls = [node for way in ways_up for node in ast.walk(way) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
        if _name(call.func) in known:
            yield _move(call, path)


def _names(tree: ast.Module) -> set[str]:
    imported = (
        alias.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name in _CALLS and alias.asname
    )
    return {*_CALLS, *imported}


def _name(function: ast.expr) -> str | None:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else None


def _move(call: ast.Call, path: Path) -> tuple[str, int]:
    given: dict[str | None, ast.expr] = dict(zip(_PARAMETERS, call.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in call.keywords}
    version = _written(given.get("to_version"))
    schema = _written(given["schema"]) if "schema" in given else "emq"
    if not isinstance(version, int) or not isinstance(schema, str):
        raise BadSetting(
            f"{path}, line {call.lineno}: the versions, or the schema, are not written out.",
            hint="Write them as numbers and a name, or say with --from what it leads to.",
        )
    return schema, version


def _written(node: ast.expr | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None
