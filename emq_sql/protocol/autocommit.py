"""One statement of an application's that would commit by itself: sent once, with a guard.

Either one text holds the statement and the guard: the server makes one transaction of it, and
commits it when the guard has passed. Or it is begun, and the guard is sent with the COMMIT.
"""

from __future__ import annotations

import re

from emq_sql.job import Lease
from emq_sql.protocol.guarding import Ask, in_text, state

BEGIN_READING = "begin read only"
COMMIT = "commit"
EMPTY_CURSOR = "declare {} no scroll cursor with hold for select"
ROLLBACK = "rollback"

_LEAST_BOUND_MS, _MOST_BOUND_MS = 10_000, 2**31 - 1

# Whoever is frozen in the transaction keeps its locks no longer than a guard would let it.
_BEGIN = """begin;
select pg_catalog.set_config('idle_in_transaction_session_timeout', '{ms}', true)
 where pg_catalog.current_setting('idle_in_transaction_session_timeout') = '0'
    or pg_catalog.current_setting('idle_in_transaction_session_timeout')::interval
       > {ms} * interval '1 ms'"""

# What a cursor WITH HOLD does it does in the COMMIT: nothing can be asked after that. Where nothing
# can be written, nothing could be locked either.
_HOLD = """
select case when pg_catalog.current_setting('transaction_read_only') = 'off'
            then {guard}::text end"""

_ENDS = re.compile(
    r"(?:begin|start|commit|end|abort|prepare transaction"
    r"|rollback(?! (?:work |transaction )?to\b))\b"
)

_WROTE = "25006"
_NO_TRANSACTION = "25001"
_COMMITS = "2D000"


def guarded_with(schema: str, lease: Lease) -> str:
    """What makes of a statement before it, in the same text, a transaction with a guard."""
    # The statement may end in a comment. What is left open in it is an error, and no guard's.
    return f"\n;{in_text(schema, 'guard_commit', lease)}"


def begin(ask: Ask, lease: Lease) -> None:
    """A transaction whose guard comes at its end."""
    ask(_BEGIN.format(ms=_bound(lease)))


def begin_held(ask: Ask, schema: str, lease: Lease) -> None:
    """A transaction whose guard comes first, if it can write anything. Raises as a guard does."""
    guard = in_text(schema, "guard", lease).removeprefix("select ")
    ask(_BEGIN.format(ms=_bound(lease)) + ";" + _HOLD.format(guard=guard))


def is_of_guard(error: BaseException | None) -> bool:
    """Whether the guard has raised it, and not the statement that was sent with it."""
    diag = getattr(error, "diag", None)
    context = getattr(diag, "context", None) or ""
    said = getattr(diag, "message_primary", None) or ""  # it is not there, or not for this role
    return "guard_commit(" in context or "guard_commit" in said


def ends_transactions(beginning: str) -> bool:
    """Whether a statement that begins so begins or ends a transaction. Savepoints are none."""
    return _ENDS.match(beginning) is not None


def wanted_to_write(error: BaseException | None) -> bool:
    """Whether a transaction that may only read was asked to write. Nothing of it was done."""
    return error is not None and state(error) == _WROTE


def wants_no_transaction(error: BaseException | None) -> bool:
    """Whether the statement is one of those that cannot run in a transaction, as VACUUM."""
    return error is not None and state(error) == _NO_TRANSACTION


def would_commit(error: BaseException | None) -> bool:
    """Whether it has run a COMMIT of a procedure's or a block's, where it could not."""
    return error is not None and state(error) == _COMMITS


def _bound(lease: Lease) -> int:
    of_lease = int(lease.lease.total_seconds() * 1000)
    return min(max(of_lease, _LEAST_BOUND_MS), _MOST_BOUND_MS)
