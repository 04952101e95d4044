"""The ledger's schema inside an application's own Alembic history.

In a revision of yours, with numbers that you never change afterwards:

    from emq_sql.integrations.alembic import downgrade_emq, upgrade_emq

    def upgrade() -> None:
        upgrade_emq(op, from_version=0, to_version=2)

    def downgrade() -> None:
        downgrade_emq(op, from_version=2, to_version=0)

and in env.py, when it has include_schemas=True:

    context.configure(..., include_schemas=True, include_name=include_name())
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any, Literal, Protocol

from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import ExecutableDDLElement
from sqlalchemy.sql.compiler import DDLCompiler

from emq_sql.errors import StepOutOfOrder
from emq_sql.protocol import steps
from emq_sql.rules import names

NameKind = Literal[
    "schema", "table", "column", "index", "unique_constraint", "foreign_key_constraint"
]
ParentKind = Literal["schema_name", "table_name", "schema_qualified_table_name"]
IncludeName = Callable[[str | None, NameKind, MutableMapping[ParentKind, str | None]], bool]


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


def include_name(own: IncludeName | None = None, *, schema: str = "emq") -> IncludeName:
    """An `include_name` for env.py that keeps autogenerate away from the ledger's schema.

    With `own`, a name is included when that says so too. A database role that is named like the
    schema makes it that role's default schema ("$user" in search_path), which Alembic then asks
    for without a name: run Alembic under another role.
    """
    ours = names.schema_name(schema)

    def include(
        name: str | None, kind: NameKind, parents: MutableMapping[ParentKind, str | None]
    ) -> bool:
        if kind == "schema" and name == ours:
            return False
        return own is None or own(name, kind, parents)

    return include


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
