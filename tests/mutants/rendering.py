"""The schema with clauses replaced, to see whether a test notices."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from emq_sql.protocol import steps


@dataclass(frozen=True, slots=True)
class Change:
    """In the file of this name (without number and .sql), `old` becomes `new`."""

    file: str
    old: str
    new: str = ""


def render(*changes: Change) -> list[str]:
    """The rendered steps with the changes made; a clause that is not found is an error."""
    rendered = [text for _, text in steps.path(0, steps.newest())]
    files = {change.file: _text(change.file) for change in changes}
    for file, before in files.items():
        after = before
        for change in changes:
            if change.file == file:
                assert change.old in after, f"{file}.sql has no clause {change.old!r}"
                after = after.replace(change.old, change.new)
        places = [k for k, step in enumerate(rendered) if before.rstrip() in step]
        assert len(places) == 1, f"{file}.sql is in {len(places)} steps"
        rendered[places[0]] = rendered[places[0]].replace(before.rstrip(), after.rstrip())
    return rendered


def install(conn: psycopg.Connection[Any], *changes: Change) -> None:
    """Apply the steps with the changes made."""
    for statement in render(*changes):
        conn.execute(statement.encode())


def _text(file: str) -> str:
    root = steps.migrations_folder() / "steps"
    paths = sorted(path for path in root.rglob("up/**/*.sql") if _name(path) == file)
    assert paths, f"there is no {file}.sql"
    return paths[-1].read_text()  # the newest step that makes it


def _name(path: Path) -> str:
    number, _, rest = path.stem.partition("_")
    return rest if number.isdigit() else path.stem
