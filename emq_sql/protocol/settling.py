"""What a handler asks for in a transaction of its own: that its run ends there, that a key is new.

And what it may ask afterwards: what became of its claim, once that is final.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psycopg

from emq_sql.job import Decided, End, Lease, SettleAnswer
from emq_sql.protocol.adapt import cursor
from emq_sql.protocol.characters import in_characters_of
from emq_sql.protocol.speaking import Speaker
from emq_sql.protocol.troubles import named

# Said in the transaction of a block when it begins: a rollback or a commit within the block, in
# whichever way, takes it along. SET is no query, so that SET TRANSACTION may still follow.
MARK = "set local emq.block = 'open'"
_MARKED = "pg_catalog.current_setting('emq.block', true) = 'open'"

_SETTLE = ("uuid", "bigint", "text", "boolean", "jsonb", "interval", "text")


def settle(
    speaker: Speaker, schema: str, lease: Lease, end: End, *, last: bool
) -> SettleAnswer | None:
    """End the run in this transaction; `last` says that it is a block's, and the commit is next.

    Answers where the job is then, or `busy`; None, and nothing was done, if `last` and this is not
    the transaction that has the block's MARK. Raises LeaseLost, and JobFinished when another
    transaction has ended the run: the server has failed this one by then.
    """
    error = end.error and in_characters_of(_encoding(speaker.driver), end.error)
    values = [lease.id, lease.fence, end.verb, last, end.result, _interval(end.delay), error]
    answer: SettleAnswer | None = speaker.call(
        f"{schema}.settle", _SETTLE, values, only_if=_MARKED if last else None
    )
    return answer


def once(speaker: Speaker, schema: str, lease: Lease, key: str) -> bool:
    """Whether this transaction is the first with this key; waits 5 s at most for another one."""
    values = [key, lease.id, lease.fence]
    return bool(speaker.call(f"{schema}.once", ("text", "uuid", "bigint"), values))


def decided(conn: psycopg.Connection[Any], schema: str, lease: Lease) -> Decided:
    """What became of this claim, or `busy` while an open transaction may settle it."""
    query = f"select {schema}.decided(%s, %s)"
    with named(), cursor(conn) as c:
        row = c.execute(query.encode(), [lease.id, lease.fence]).fetchone()
    assert row is not None
    answer: Decided = row[0]
    return answer


def _interval(delay: timedelta | None) -> str | None:
    return None if delay is None else f"{delay // timedelta(microseconds=1)} microseconds"


def _encoding(driver: Any) -> str | None:
    if isinstance(driver, psycopg.Connection | psycopg.AsyncConnection):
        return driver.info.parameter_status("server_encoding")
    settings = getattr(driver, "get_settings", None)  # asyncpg's
    return getattr(settings(), "server_encoding", None) if settings else None
