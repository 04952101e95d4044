"""What autogenerate may look at: everything but the ledger's schema."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Literal

from emq_sql.rules import names

NameKind = Literal[
    "schema", "table", "column", "index", "unique_constraint", "foreign_key_constraint"
]
ParentKind = Literal["schema_name", "table_name", "schema_qualified_table_name"]
IncludeName = Callable[[str | None, NameKind, MutableMapping[ParentKind, str | None]], bool]


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
