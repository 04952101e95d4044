"""The signatures of the functions that roles may call, as docs/reference/protocol.md shows them."""

from __future__ import annotations

import re

from tests.protocol.calls import Ledger
from tests.security.test_roles import MAY_CALL

_SHORTER = (
    (r"timestamp with time zone", "timestamptz"),
    (r"\binteger\b", "int"),
    (r" DEFAULT NULL::[a-z ]+(\[\])?", " = null"),
    (r" DEFAULT \(\(now\(\) AT TIME ZONE 'utc'::text\)\)::date", " = today in UTC"),
    (r" DEFAULT ('[^']*')::interval", r" = \1"),
    (r" DEFAULT ('[^']*')::jsonb", r" = \1"),
    (r" DEFAULT (\w+)", r" = \1"),
    (r"\bIN ", ""),  # said of procedures only
)
CLAIMED_JOB = (
    "id uuid, fence bigint, attempts int, stalled int, failures int, lease_deadline timestamptz,"
    " lease_ms int, task text, payload jsonb, headers jsonb, enqueued_at timestamptz"
)
_COLUMN = re.compile(r"^OUT (.*)$")
_QUERY = """
select proname, pg_get_function_arguments(oid),
       coalesce(pg_get_function_result(oid), 'a procedure'), proretset
  from pg_proc where pronamespace = 'emq'::regnamespace and proname = any (%s) order by proname
"""


def signatures(ledger: Ledger) -> dict[str, str]:
    """By name: `claim(p_queue text, ...) -> rows of (id uuid, ...)`."""
    called = [name for name, roles in MAY_CALL.items() if roles]
    return {name: _signature(name, *rest) for name, *rest in ledger.rows(_QUERY, called)}


def _signature(name: str, arguments: str, result: str, rows: bool) -> str:
    for old, new in _SHORTER:
        arguments, result = re.sub(old, new, arguments), re.sub(old, new, result)
    given = [part for part in arguments.split(", ") if part and not _COLUMN.match(part)]
    out = [found[1] for part in arguments.split(", ") if (found := _COLUMN.match(part))]
    if rows:
        columns = result.removeprefix("TABLE(").removesuffix(")")
        answer = f"rows of ({columns.replace(CLAIMED_JOB, 'claimed job')})"
    else:
        answer = f"({', '.join(out)})" if out else result
    return f"{name}({', '.join(given)}) -> {answer}"
