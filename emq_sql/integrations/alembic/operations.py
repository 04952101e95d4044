"""The steps of the ledger, called from a revision of the application."""

from __future__ import annotations

from typing import Any, Protocol

from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import ExecutableDDLElement
from sqlalchemy.sql.compiler import DDLCompiler

from emq_sql.errors import StepOutOfOrder
from emq_sql.protocol import steps


class Operations(Protocol):
    """What is used of `alembic.op`."""

    def execute(self, sqltext: Any) -> None: ...

    def get_context(self) -> Any: ...


def upgrade_emq(op: Operations, from_version: int, to_version: int, schema: str = "emq") -> None:
    """Lead the ledger's schema up from one version to a later one, one statement a step.

    Part of the transaction of the revision; works online and with `--sql`. A step that is in place
    already (because `emq schema upgrade` ran, say) is a no-op; a gap is refused by the database.
    Raises StepOutOfOrder when the numbers do not lead upward or are not known, BadName for the
    schema.
    """
    if from_version > to_version:
        raise StepOutOfOrder(
            f"upgrade_emq was told to go from version {from_version} down to {to_version}.",
            hint="Use downgrade_emq, or exchange the numbers.",
        )
    _run(op, from_version, to_version, schema)


def downgrade_emq(op: Operations, from_version: int, to_version: int, schema: str = "emq") -> None:
    """Take steps back from a version to an earlier one, newest first.

    Part of the transaction of the revision; works online and with `--sql`. The database refuses
    it while jobs would be lost with a table. Raises StepOutOfOrder when the numbers do not lead
    downward or are not known, BadName for the schema.
    """
    if from_version < to_version:
        raise StepOutOfOrder(
            f"downgrade_emq was told to go from version {from_version} up to {to_version}.",
            hint="Use upgrade_emq, or exchange the numbers.",
        )
    _run(op, from_version, to_version, schema)


class _Verbatim(ExecutableDDLElement):
    """SQL that reaches the server, or the output of --sql, exactly as it is.

    `text()` would take a word after a colon for a parameter, and would double each percent sign
    in the output of --sql unless env.py sets another paramstyle.
    """

    inherit_cache = False

    def __init__(self, statement: str, *, to_a_driver: bool) -> None:
        self.statement = statement
        self.to_a_driver = to_a_driver


@compiles(_Verbatim)
def _compiled(element: _Verbatim, compiler: DDLCompiler, **_: Any) -> str:
    if element.to_a_driver and compiler.dialect.paramstyle in ("format", "pyformat"):
        return element.statement.replace("%", "%%")
    return element.statement


def _run(op: Operations, from_version: int, to_version: int, schema: str) -> None:
    online = not op.get_context().as_sql
    for _, text in steps.path(from_version, to_version, schema):
        op.execute(_Verbatim(text.rstrip().removesuffix(";"), to_a_driver=online))
