"""Instants of the server that Python has no date for: infinity, and years after 9999."""

from __future__ import annotations

from datetime import UTC, datetime

from psycopg import DataError
from psycopg.abc import AdaptContext, Buffer
from psycopg.types.datetime import TimestamptzBinaryLoader, TimestamptzLoader

# A day from the ends that Python knows, so that each time zone can show them.
LAST = datetime(9999, 12, 30, tzinfo=UTC)
FIRST = datetime(1, 1, 2, tzinfo=UTC)


def legible_instants(context: AdaptContext) -> None:
    """From here on a row with such an instant is read: it is the last day that has a date, or the
    first. A client of SQL may give a job one; whoever lists jobs is to see that one too.
    """
    for loader in (_Text, _Binary):
        context.adapters.register_loader("timestamptz", loader)


class _Text(TimestamptzLoader):
    def load(self, data: Buffer) -> datetime:
        try:
            return super().load(data)
        except DataError:
            text = bytes(data)
            return FIRST if text.startswith(b"-") or text.endswith(b"BC") else LAST


class _Binary(TimestamptzBinaryLoader):
    def load(self, data: Buffer) -> datetime:
        try:
            return super().load(data)
        except DataError:
            return FIRST if int.from_bytes(bytes(data), signed=True) < 0 else LAST
