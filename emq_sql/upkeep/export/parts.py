"""One file of a day's export: rows go in page by page, and the file is read back whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext, suppress
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from emq_sql.errors import ExportDamaged
from emq_sql.protocol.exporting import FINISHED_AT, ID, Key, Row
from emq_sql.upkeep.export.columns import SCHEMA, batch
from emq_sql.upkeep.export.digest import Digest
from emq_sql.upkeep.export.places import Place


class PartFile:
    """Takes rows in their order until its block ends; then `digest` is that of all of them.

    Each page is a row group, so that a reader needs no more memory than a writer.
    """

    def __init__(self, sink: Any) -> None:
        self._writer = pq.ParquetWriter(sink, SCHEMA, compression="zstd")
        self._digest = Digest(SCHEMA)
        self.first: Key | None = None
        self.last: Key | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with suppress(OSError, pa.ArrowException) if kind else nullcontext():
            self._writer.close()

    @property
    def rows(self) -> int:
        """How many it has taken."""
        return self._digest.rows

    def take(self, rows: list[Row]) -> None:
        """The next rows, if there are any."""
        if not rows:
            return
        page = batch(rows)
        self._digest.add(page)
        self._writer.write_batch(page, row_group_size=page.num_rows)
        self.first = self.first or key(rows[0])
        self.last = key(rows[-1])

    @property
    def digest(self) -> str:
        """Over the rows that it has taken."""
        return self._digest.value()


def key(row: Row) -> Key:
    """Where a row stands in the order."""
    return row[ID], row[FINISHED_AT]


def read_back(place: Place, path: str, written: PartFile) -> tuple[str, int]:
    """Read a file whole and compare each row; answers its checksum and length.

    Raises ExportDamaged when it is not what was written.
    """
    found, first, last = Digest(SCHEMA), None, None
    for rows in batches(place, path):
        found.add(rows)
        ids = rows.column(ID)
        first, last = first or ids[0].as_py(), ids[-1].as_py()
    expected = written.first and written.first[0], written.last and written.last[0]
    if (found.value(), first, last) != (written.digest, *expected):
        raise ExportDamaged(
            f"{path} in {place.location} holds other rows than were written to it.",
            hint="Nothing was recorded of it; look after the storage, then run the export again.",
        )
    return place.sha256(path)


def batches(place: Place, path: str) -> Iterator[pa.RecordBatch]:
    """The rows of a file, a page at a time. Raises ExportDamaged when it cannot be read."""
    try:
        with place.open(path) as source, pq.ParquetFile(source) as file:
            for number in range(file.num_row_groups):
                yield from file.read_row_group(number).to_batches()
    except (OSError, pa.ArrowException) as error:
        raise ExportDamaged(
            f"{path} in {place.location} cannot be read: {' '.join(str(error).split())}."
        ) from error
