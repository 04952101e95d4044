"""Rows of the archive as Arrow sees them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from emq_sql.protocol.exporting import COLUMNS, Kind, Row

# JSON stays the text that PostgreSQL gives: each digit of a number is kept, at any depth.
TYPES: dict[Kind, pa.DataType] = {
    "text": pa.string(),
    "number": pa.int64(),
    "instant": pa.timestamp("us", tz="UTC"),
    "json": pa.string(),
}
SCHEMA = pa.schema([(name, TYPES[kind]) for name, kind in COLUMNS.items()])


def batch(rows: Sequence[Row]) -> pa.RecordBatch:
    """The same rows, column by column; at least one."""
    columns = zip(*rows, strict=True)
    return pa.RecordBatch.from_arrays(
        [pa.array(values, field.type) for values, field in zip(columns, SCHEMA, strict=True)],
        schema=SCHEMA,
    )
