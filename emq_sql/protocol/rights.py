"""What a role may do with the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg

from emq_sql.protocol.adapt import cursor
from emq_sql.protocol.troubles import named

# Without one of these a job that was claimed could not be kept, or not be settled.
TO_WORK = (
    "at_home", "claim", "claim_any", "claimed", "complete", "complete_and_claim", "fail", "keep",
    "last_chance", "outcome", "release", "snooze", "stall",
)  # fmt: skip
TO_MAINTAIN = ("maintain", "maintain_due", "tidy")

_MISSING = """
select r.role, array(
  select p.proname::text from pg_catalog.pg_proc p
    join pg_catalog.pg_namespace n on n.oid = p.pronamespace
   where n.nspname = %s and p.proname = any(%s::text[])
     and not pg_catalog.has_function_privilege(r.role::name, p.oid, 'execute')
   order by 1)
  from (select coalesce(%s, current_user::text) as role) r
"""


def missing(
    conn: psycopg.Connection[Any], schema: str, needed: Sequence[str], role: str | None = None
) -> tuple[str, list[str]]:
    """The role's name (by default that of the connection), and those of the ledger's functions
    needed that it may not execute.
    """
    with named(), cursor(conn) as c:
        row = c.execute(_MISSING, [schema, list(needed), role]).fetchone()
    assert row is not None
    return row[0], row[1]
