"""The numbered SQL steps: found, rendered for a schema, applied and taken back.

A rendered step is one statement (see `migrations/step.sql`), so that Alembic, Django, psql and
a driver can all run the same text. A step at or below the version in `meta` is a no-op and a gap is
an error, decided in SQL under a lock, so these tools may follow one another.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from emq_sql.errors import (
    Refused,
    Retryable,
    SchemaMissing,
    SchemaTooNew,
    SchemaTooOld,
    StepOutOfOrder,
)
from emq_sql.protocol import troubles
from emq_sql.protocol.adapt import committing
from emq_sql.protocol.bounded import longer
from emq_sql.rules import names

Direction = Literal["up", "down"]

_PATIENCE = 30.0  # seconds that a downgrade is tried for while somebody is in its way
_STEP_NAME = re.compile(r"(?P<number>\d{4})_(?P<phase>pre|post)_(?P<what>\w+)")
_QUALIFIER = re.compile(r"(?<![\w.])emq\.")
_CREATE_FUNCTION = re.compile(r"^create function\b", re.M)
_SCHEMA_WORD = re.compile(r"\bschema emq\b")


@dataclass(frozen=True, slots=True)
class Step:
    """One numbered step: `pre` goes before the new code is deployed, `post` after it."""

    number: int
    phase: str
    what: str
    folder: Path

    @property
    def name(self) -> str:
        """The folder's name, for example `0001_pre_ledger`."""
        return self.folder.name


def migrations_folder() -> Path:
    """Where the steps are: inside an installed wheel, or beside the package in a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "_migrations"
    return installed if installed.is_dir() else package.parent / "migrations"


@cache
def all_steps() -> tuple[Step, ...]:
    """All steps in order; their numbers are 1, 2, 3 without a gap."""
    found = []
    for folder in sorted((migrations_folder() / "steps").iterdir()):
        match = _STEP_NAME.fullmatch(folder.name)
        if match:
            found.append(Step(int(match["number"]), match["phase"], match["what"], folder))
    if [step.number for step in found] != list(range(1, len(found) + 1)):
        raise StepOutOfOrder(
            f"The migration steps are {[step.name for step in found]}, which leaves a gap.",
            hint="Reinstall emq-sql: its migrations folder is incomplete.",
        )
    return tuple(found)


def newest() -> int:
    """The version that this emq_sql works with: the number of its newest step."""
    return all_steps()[-1].number


def statements(step: Step, direction: Direction) -> list[str]:
    """The texts of a step's files, in the order of their paths.

    A `.list` among them names files of earlier steps: the functions as they were before this step,
    which are put back.
    """
    texts = []
    for path in sorted((step.folder / direction).rglob("*")):
        if path.suffix == ".sql":
            texts.append(path.read_text())
        elif path.suffix == ".list":
            texts += [_put_back(step.folder.parent / name) for name in path.read_text().split()]
    return texts


def _put_back(file: Path) -> str:
    return _CREATE_FUNCTION.sub("create or replace function", file.read_text())


def for_schema(text: str, schema: str) -> str:
    """Put another schema's name where the text says emq; the name is checked first."""
    schema = names.schema_name(schema)
    text = _QUALIFIER.sub(f"{schema}.", text)
    return _SCHEMA_WORD.sub(f"schema {schema}", text)


def render(step: Step, direction: Direction, schema: str = "emq") -> str:
    """One step as one SQL statement, for any tool that can run SQL."""
    template = (migrations_folder() / "step.sql").read_text()
    executes = "\n".join(
        f"  execute $emq_{n}$\n{text.rstrip()}\n$emq_{n}$;"
        for n, text in enumerate(statements(step, direction), start=1)
    )
    template = template.replace("@up@", str(direction == "up").lower())
    template = template.replace("@number@", str(step.number))
    return for_schema(template.replace("@statements@", executes), schema)


def script(frm: int, to: int, schema: str = "emq") -> str:
    """The statements that lead from one version to another, up or down, as one script."""
    return "\n".join(text for _, text in path(frm, to, schema))


def path(frm: int, to: int, schema: str = "emq") -> list[tuple[Step, str]]:
    """The rendered steps that lead from one version to another, in the order to run them."""
    steps = all_steps()
    for version in (frm, to):
        if not 0 <= version <= len(steps):
            raise StepOutOfOrder(
                f"There is no schema version {version}.",
                hint=f"This emq_sql knows the versions 0 (nothing) to {len(steps)}.",
            )
    if to >= frm:
        return [(s, render(s, "up", schema)) for s in steps[frm:to]]
    return [(s, render(s, "down", schema)) for s in reversed(steps[to:frm])]


def current(conn: psycopg.Connection, *, schema: str = "emq") -> int:
    """The version of the schema in this database; 0 when there is none.

    Raises SchemaMissing when the schema is there without the row that says it.
    """
    schema = names.schema_name(schema)
    with troubles.named(), psycopg.Cursor(conn, row_factory=tuple_row) as cursor:
        row = cursor.execute("select to_regclass(%s) is not null", [f"{schema}.meta"]).fetchone()
        if row is None or not row[0]:
            return 0
        query = sql.SQL("select version from {}").format(sql.Identifier(schema, "meta"))
        found = cursor.execute(query).fetchone()
    if found is None:
        raise SchemaMissing(
            f"The ledger is here, but the row of {schema}.meta is gone. Was every table truncated?",
            hint="Write it again with the version that was here:"
            f" insert into {schema}.meta (version) values ({newest()}).",
        )
    return int(found[0])


def upgrade(conn: psycopg.Connection, *, schema: str = "emq", to: int | None = None) -> list[int]:
    """Apply the steps that are missing, each in a transaction of its own; answers their numbers.

    Raises StepOutOfOrder for an unknown target, Refused without the right to make a schema; a step
    that fails leaves the schema as it was.
    """
    have = current(conn, schema=schema)
    target = newest() if to is None else to
    if target < have:
        return []
    with _needing("CREATE on the database, or the owner of the ledger", "upgrade"):
        return _apply(conn, path(have, target, schema))


def downgrade(
    conn: psycopg.Connection, *, schema: str = "emq", to: int, discard_jobs: bool = False
) -> list[int]:
    """Take back the steps above `to`, newest first, all or none; answers their numbers.

    Raises JobsWouldBeLost when a table that holds jobs would go, unless `discard_jobs` is true;
    Retryable when somebody was in the way for half a minute. Meanwhile it gives back all locks that
    it has, and tries again: a step waits in the server only when it holds nobody else up.
    """
    have = current(conn, schema=schema)
    if to >= have:
        return []
    until = time.monotonic() + _PATIENCE
    while True:
        own = conn.info.transaction_status == TransactionStatus.IDLE
        try:
            return _downgrade(conn, schema, have, to, discard_jobs)
        except Retryable as error:
            held_up = isinstance(error.__cause__, psycopg.errors.LockNotAvailable)
            if not (own and held_up) or time.monotonic() >= until:
                raise
        time.sleep(random.uniform(0.2, 1.0))  # noqa: S311


def _downgrade(
    conn: psycopg.Connection, schema: str, have: int, to: int, discard_jobs: bool
) -> list[int]:
    needing = _needing("the owner of the ledger", "downgrade")
    with needing, committing(conn), conn.transaction(), psycopg.Cursor(conn) as cursor:
        if discard_jobs:
            cursor.execute("select set_config(%s, 'on', true)", [f"{schema}.discard_jobs"])
        return _apply(conn, path(have, to, schema))


@contextmanager
def _needing(right: str, command: str) -> Iterator[None]:
    """Name the right that a refused statement of ours needs, and the way round."""
    try:
        yield
    except Refused as error:
        if not isinstance(error.__cause__, psycopg.errors.InsufficientPrivilege):
            raise
        raise Refused(
            error.what,
            hint=f"This needs {right}; emq schema {command} --sql prints it for who has that.",
        ) from error.__cause__


def _apply(conn: psycopg.Connection, rendered: list[tuple[Step, str]]) -> list[int]:
    for _, text in rendered:
        with committing(conn), conn.transaction(), longer(conn, None):
            # It takes as long as the tables are large: who waits may end it, and no limit of ours.
            psycopg.Cursor(conn).execute(text.encode())
    return [step.number for step, _ in rendered]


def roles_script(*, schema: str = "emq", prefix: str = "emq") -> str:
    """The SQL that makes the four roles and grants them what they may do."""
    text = (migrations_folder() / "roles.sql").read_text()
    return for_schema(text.replace("@prefix@", names.role_prefix(prefix)), schema)


def require_newest(conn: psycopg.Connection, *, schema: str = "emq") -> None:
    """Raise the error that says what to do unless the schema is the one this emq_sql works with."""
    have, need = current(conn, schema=schema), newest()
    if have == need:
        return
    if have == 0:
        raise SchemaMissing(
            f'There is no ledger in the schema "{schema}" of this database.',
            hint="Run: emq schema upgrade (or the Alembic or Django migration that calls it).",
        )
    if have < need:
        raise SchemaTooOld(
            f'The schema "{schema}" is at version {have}; this emq_sql works with {need}.',
            hint="Run: emq schema upgrade.",
        )
    raise SchemaTooNew(
        f'The schema "{schema}" is at version {have}; this emq_sql works with {need}.',
        hint="Install a newer emq-sql.",
    )


def apply_roles(conn: psycopg.Connection, *, schema: str = "emq", prefix: str = "emq") -> None:
    """Make the four roles and grant them what they may do; harmless to repeat.

    Raises Refused without the right to make roles, or to grant on the ledger.
    """
    needing = _needing("CREATEROLE and the owner of the ledger", "roles")
    with needing, committing(conn), conn.transaction(), psycopg.Cursor(conn) as cursor:
        cursor.execute(roles_script(schema=schema, prefix=prefix).encode())
