"""One statement of an application's that would commit by itself: begun, guarded and committed here.

Of what is said about a statement by its first words only a refusal is final: a statement that seems
to read is sent as one that may do nothing else, and the server holds it to that.
"""

from __future__ import annotations

import re

from emq_sql.job import Lease
from emq_sql.protocol.guarding import Ask, state

BEGIN = "begin"
BEGIN_READING = "begin read only"
COMMIT = "commit"
EMPTY_CURSOR = "declare {} no scroll cursor with hold for select"
ROLLBACK = "rollback"

# Two statements sent as one text are one transaction, and its mode is set in the same round trip.
_READ_ONLY = "set transaction read only;\n"

_LEADS = r"\A(?:\s|\(|--[^\n]*\n|/\*.*?\*/)*"
_READS = re.compile(rf"{_LEADS}(?:select|with|values|table|show|explain)\b", re.I | re.S)
_ENDS = re.compile(
    rf"{_LEADS}(?:begin|start|commit|end|abort|prepare\s+transaction"
    r"|rollback(?!\s+(?:work\s+|transaction\s+)?to\b))\b",
    re.I | re.S,
)

_WROTE = "25006"
_NO_TRANSACTION = "25001"


def guard_and_commit(ask: Ask, schema: str, lease: Lease) -> None:
    """The guard and the COMMIT in one round trip: a guard that raises leaves the other undone."""
    # A text of two statements has no parameters: an id and a number are written into it.
    guard = f"select {schema}.guard_commit('{lease.id}'::uuid, {int(lease.fence)}::bigint)"
    ask(f"{guard}; {COMMIT}")


def reading_only(sql: object) -> str | None:
    """A statement that seems to read, as one that cannot write; None for any other."""
    return _READ_ONLY + sql if isinstance(sql, str) and _READS.match(sql) else None


def ends_transactions(sql: object) -> bool:
    """Whether it begins or ends a transaction itself. Savepoints are none."""
    return isinstance(sql, str) and _ENDS.match(sql) is not None


def wanted_to_write(error: BaseException | None) -> bool:
    """Whether a transaction that may only read was asked to write. Nothing of it was done."""
    return error is not None and state(error) == _WROTE


def wants_no_transaction(error: BaseException | None) -> bool:
    """Whether the statement is one of those that cannot run in a transaction, as VACUUM."""
    return error is not None and state(error) == _NO_TRANSACTION
