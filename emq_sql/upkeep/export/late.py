"""Rows that came after a day was exported: those that its files do not have."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter

import pyarrow as pa

from emq_sql.protocol.exporting import FINISHED_AT, ID, Key, Part, Row
from emq_sql.upkeep.export.parts import batches, key
from emq_sql.upkeep.export.places import Place


class Former:
    """The rows of former files, passed once in order and never all in memory.

    The files are those that were recorded; the caller has looked.
    """

    def __init__(self, place: Place, parts: Sequence[Part]) -> None:
        versions = groupby(parts, attrgetter("version"))
        # Within a version the files follow one another; versions lie beside each other.
        self._keys = heapq.merge(*(_keys(place, list(of_one)) for _, of_one in versions))
        self._next = next(self._keys, None)

    def lack(self, rows: Sequence[Row]) -> list[Row]:
        """Those of the rows, in order, that no file has; asked in the order of the day."""
        return [row for row in rows if not self._has(key(row))]

    def _has(self, wanted: Key) -> bool:
        while self._next is not None and self._next < wanted:
            self._next = next(self._keys, None)
        return self._next == wanted


def _keys(place: Place, parts: Sequence[Part]) -> Iterator[Key]:
    for part in parts:
        for found in batches(place, part.path):
            ids = found.column(ID).to_pylist()
            yield from zip(ids, found.column(FINISHED_AT).cast(pa.int64()).to_pylist(), strict=True)
