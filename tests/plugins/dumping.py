"""Real dumps of a database, restored into another one."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from emq_sql.embedded import find
from emq_sql.errors import EmbeddedError
from tests.plugins.databases import Database, misplaced, scratch
from tests.plugins.running import PgServer


def dumped(server: PgServer, database: Database, file: Path) -> Path:
    """A dump of the database as it is now, in this file."""
    _run(server, "pg_dump", "--format=custom", "--compress=0", f"--file={file}", database.dsn)
    return file


@contextmanager
def restored(server: PgServer, dump: Path) -> Iterator[Database]:
    """A new database with what was dumped; afterwards each job must be in exactly one place."""
    with scratch(server) as copy:
        _run(server, "pg_restore", "--exit-on-error", f"--dbname={copy.dsn}", str(dump))
        yield copy
        assert misplaced(copy) == []


def _run(server: PgServer, program: str, *words: str) -> None:
    subprocess.run([_program(server, program), *words], check=True, timeout=60)


def _program(server: PgServer, name: str) -> str:
    for kind in ("embedded", "system"):
        try:
            found = find(kind)
        except EmbeddedError:
            continue
        if found.major >= server.major and (found.bindir / name).exists():
            return str(found.bindir / name)
    return shutil.which(name) or pytest.skip(f"There is no {name} for this server.")
