"""A directory with odd files, and one whole run over it that several tests look at."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from tests.demo.processes import PATIENCE, demo, said
from tests.plugins.databases import Database, scratch
from tests.plugins.running import PgServer

PYTHON = b"class A:\n    def f(self): ...\n\n\nasync def g(): ...\n"

# Longer than a row of a B-tree may be, and not to be compressed below it.
_LONG = b"/".join(
    b"".join(b"%c" % (97 + byte % 26) for byte in hashlib.sha512(b"%d" % n).digest() * 3)
    for n in range(15)
)

ODD_FILES = {
    _LONG: b"a long way\n",
    b"plain.py": PYTHON,
    b"plain.txt": b"one\ntwo\nthree",
    b"broken.py": b"def f(:\n",
    b"nul.py": b"x = '\0'\n",
    b"empty": b"",
    b"empty.py": b"",
    b"binary.dat": bytes(range(256)) * 40,
    b"latin-\xe9\xff.txt": b"no UTF-8 in the name\n",
    "grüße-\N{SNOWMAN}.md".encode(): b"UTF-8 in the name\n",
    b"quote\" 'and\\back\\x41slash\nnewline\x1b[31m.txt": b"escape me\n",
    b"large.bin": b"0123456789abcde\n" * 200_000,
    b"deep/er/still.py": PYTHON * 20,
    b"forbidden": b"mode 000\n",
}
LEFT_OUT = {b"__pycache__/cached.py": b"x\n", b"site-packages/foreign.py": b"x\n"}


def make_odd_tree(root: Path) -> None:
    """All that a directory may hold, and what is to be left out."""
    for name, content in (ODD_FILES | LEFT_OUT).items():
        path = root / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (root / "forbidden").chmod(0)
    (root / "link-to-a-file").symlink_to(root / "plain.txt")
    (root / "link-to-nothing").symlink_to(root / "missing")
    (root / "link-in-a-circle").symlink_to(root)
    os.mkfifo(root / "pipe")


@dataclass(frozen=True, slots=True)
class Ran:
    """A run that has ended, its database still there."""

    database: Database
    root: Path
    code: int
    text: str

    def connect(self) -> psycopg.Connection[tuple[object, ...]]:
        """In no autocommit mode: what a test changes is rolled back at the end of its block."""
        return psycopg.connect(self.database.dsn)


@pytest.fixture(scope="session")
def odd_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with odd files."""
    root = tmp_path_factory.mktemp("tree")
    make_odd_tree(root)
    return root


@pytest.fixture(scope="session")
def ran(
    pg_server: PgServer, odd_tree: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Ran]:
    """A whole run over the odd files, in a database of the test server."""
    folder = tmp_path_factory.mktemp("run")
    with scratch(pg_server) as database:
        with demo(folder, odd_tree, "--dsn", database.dsn, "--keep") as process:
            code = process.wait(PATIENCE)
        yield Ran(database, odd_tree, code, said(folder))
