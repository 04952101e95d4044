"""A digest over rows that does not depend on how they are cut into batches or stored in a file."""

from __future__ import annotations

import hashlib

import pyarrow as pa
import pyarrow.compute as pc


class Digest:
    """Add batches of one schema in order; two digests are equal when all values are.

    For each column it runs over the lengths of the values as text (-1: null) and over the text.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._names = schema.names
        self._lengths = [hashlib.sha256() for _ in self._names]
        self._texts = [hashlib.sha256() for _ in self._names]
        self.rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """The next rows."""
        self.rows += batch.num_rows
        for column, lengths, texts in zip(batch.columns, self._lengths, self._texts, strict=True):
            text = _as_text(column)
            counted = pc.fill_null(pc.binary_length(text), -1)
            lengths.update(_slice(counted.buffers()[1], 4 * counted.offset, 4 * len(counted)))
            filled = pc.fill_null(text, "")
            offsets, data = filled.buffers()[1:]
            if len(filled) and data is not None:
                marks = memoryview(offsets).cast("i")
                start = marks[filled.offset]
                texts.update(_slice(data, start, marks[filled.offset + len(filled)] - start))

    def value(self) -> str:
        """In hexadecimal."""
        whole = hashlib.sha256(str(self.rows).encode())
        for name, lengths, texts in zip(self._names, self._lengths, self._texts, strict=True):
            whole.update(f"{name} {lengths.hexdigest()} {texts.hexdigest()}\n".encode())
        return whole.hexdigest()


def _as_text(column: pa.Array) -> pa.Array:
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return column.cast(pa.string())


def _slice(buffer: pa.Buffer, start: int, length: int) -> memoryview:
    return memoryview(buffer)[start : start + length]
