"""Refusals that handlers met in their own transactions, on their way to the record."""

from __future__ import annotations

from dataclasses import dataclass

from emq_sql.job import Lease


@dataclass(frozen=True, slots=True)
class Note:
    """A call that the database refused, `at` an instant of the monotonic clock."""

    lease: Lease
    verb: str
    at: float
