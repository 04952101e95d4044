"""Calls of the verbs that work in batches, and what the ledger's tables hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from psycopg.types.json import Jsonb

from tests.protocol.calls import Ledger

TABLES = (
    "job", "pending", "scheduled", "active", "dead", "archive", "attempt", "refusal", "late",
    "inbox",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Batch:
    """One answer of obliterate."""

    status: str
    erased: int
    next: Any
    remaining: int | None


def drain(
    ledger: Ledger, queue: str = "default", limit: int = 1000, *, scheduled: bool = False,
    after: Any = None, label: str | None = None,
) -> tuple[int, Any]:  # fmt: skip
    """cancelled, next."""
    query = "select cancelled, next from emq.drain(%s, %s, %s, %s, %s)"
    place = None if after is None else Jsonb(after)
    row = ledger.row(query, queue, limit, scheduled, place, label)
    return row[0], row[1]


def obliterate(
    ledger: Ledger, queue: str = "default", limit: int = 1000, *, after: Any = None,
    force: bool = False, dry_run: bool = False, label: str | None = None,
) -> Batch:  # fmt: skip
    query = "select status, erased, next, remaining from emq.obliterate(%s, %s, %s, %s, %s, %s, %s)"
    place = None if after is None else Jsonb(after)
    return Batch(*ledger.row(query, queue, queue, place, limit, force, dry_run, label))


def batches(ledger: Ledger, *given: Any, after: Any = None, **named: Any) -> Iterator[Batch]:
    """One batch after the other to the end; after each, every job is in one place."""
    while True:
        batch = obliterate(ledger, *given, after=after, **named)
        assert ledger.rows("select * from emq.misplaced") == []
        yield batch
        if batch.status != "more":
            return
        after = batch.next


def last(ledger: Ledger, *given: Any, **named: Any) -> Batch:
    """The last batch."""
    return list(batches(ledger, *given, **named))[-1]


def counts(ledger: Ledger) -> dict[str, int]:
    """How many rows are in each table."""
    return {table: ledger.one(f"select count(*) from emq.{table}") for table in TABLES}
