"""One day of the archive is exported, and retired when its export stands."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from itertools import count
from typing import Any, Literal

import psycopg
from psycopg.pq import TransactionStatus

from emq_sql.crashpoints import crash_point
from emq_sql.errors import ExportDamaged, ExportError, ExportFailed, LeaseLost
from emq_sql.protocol import exporting, reading
from emq_sql.protocol.exporting import Begun, Exported, Part
from emq_sql.upkeep.export import checking, manifest
from emq_sql.upkeep.export.late import Former
from emq_sql.upkeep.export.parts import PartFile, read_back
from emq_sql.upkeep.export.places import Place

ROUNDS = 10  # versions in a row, as rows keep coming to a day that is over
PATIENCE = 10.0  # seconds for a day that a killed exporter's session may still have
PAUSE = 0.1


@dataclass(frozen=True, slots=True)
class Sizes:
    """Rows of a part (a file), of a page (a row group and a query), of a step of retiring."""

    part: int = 100_000
    page: int = 10_000
    step: int = 10_000


class Stopped(Exception):
    """Somebody asked for the end: what is recorded stays, and the next run goes on from there."""


@dataclass(frozen=True, slots=True)
class Told:
    """How far a day is: rows exported so far of those there are, `new` ones in this run; then,
    while it is retired, the rows that remain.
    """

    day: date
    doing: Literal["exporting", "retiring"]
    rows: int
    of: int = 0
    new: int = 0


@dataclass
class DayExport:
    """Exports one day of the ledger on this connection, which is in autocommit.

    `tell` is called after each part and each step; `stopping` is asked between pages and steps.
    """

    conn: psycopg.Connection[Any]
    schema: str
    place: Place
    day: date
    sizes: Sizes = Sizes()
    tell: Callable[[Told], None] = lambda _told: None
    stopping: Callable[[], bool] = lambda: False

    @property
    def folder(self) -> str:
        """Where the files of the day lie, below the place."""
        return self.day.isoformat()

    def export(self, *, drop: bool = False) -> tuple[str, int]:
        """Until the day is exported (and dropped); answers what came of it, and rows written now.

        exported | already exported | dropped | none. The day must be closed. Raises ExportFailed,
        ExportDamaged, Stopped and what the database says.
        """
        rows, wrote = 0, False
        for _ in range(ROUNDS):
            with self._taken_up() as begun:
                if begun.status == "none":
                    return "none", rows
                if begun.status == "ready":
                    rows, wrote = rows + self._write(begun), True
                    continue  # whether rows have come meanwhile
                if not drop:
                    return "exported" if wrote else "already exported", rows
                if not wrote:  # else each file was read in this run
                    self._look_at_files()
                if self._retire() == "dropped":
                    return "dropped", rows
        raise ExportFailed(
            f"Rows keep coming to {self.day}, which is over.",
            hint="Does the server's clock jump? Its day stays; run the export again later.",
        )

    @contextmanager
    def _taken_up(self) -> Iterator[Begun]:
        begun = self._begin()
        if begun.status in ("elsewhere", "damaged"):
            known = "at another location" if begun.status == "elsewhere" else "and damaged there"
            raise ExportFailed(
                f"{self.day} has been exported to {begun.location}, {known}, and rows of it have"
                " gone from the database since: it cannot be exported anew.",
                hint="Name that location; emq archive verify says when its files are whole.",
            )
        try:
            yield begun
        except LeaseLost as lost:
            raise ExportFailed(lost.what, hint=lost.hint) from lost
        finally:
            if begun.status == "ready" and self._idle():
                exporting.end(self.conn, self.schema, self.day, begun)

    def _idle(self) -> bool:
        return self.conn.info.transaction_status == TransactionStatus.IDLE

    def _begin(self) -> Begun:
        until = time.monotonic() + PATIENCE
        while True:
            begun = exporting.begin(self.conn, self.schema, self.day, self.place.location)
            if begun.status != "busy":
                return begun
            if time.monotonic() > until:
                raise ExportFailed(
                    f"{self.day} is being exported or retired by another session.",
                    hint="Let it end. If it is frozen, or was killed behind a pooler, the day is"
                    " free five minutes after it was last seen.",
                )
            self._pause()

    def _write(self, begun: Begun) -> int:
        """Write the version that has begun, and record it; answers the rows written now."""
        meta = reading.meta(self.conn, self.schema)
        self._refuse_other_ledgers(str(meta["ledger_id"]))
        kept = self._kept(begun)
        former = [part for part in kept if part.version < begun.version]
        pages = self._pages(begun, Former(self.place, former) if former else None)
        written = begun.written
        for number in count(begun.part):
            part = self._write_part(begun.version, number, pages)
            if part is None:
                break
            crash_point("part-written")
            self._record(begun, part)
            crash_point("part-recorded")
            kept.append(part)
            written += part.rows
            self.tell(Told(self.day, "exporting", written, begun.rows, written - begun.written))
        if begun.late and written == 0:
            raise ExportFailed(
                f"{self.day} has fewer rows in the database than its export has: somebody deleted"
                " them by hand.",
                hint="Count them, and add them to emq.exported.removed.",
            )
        listed = manifest.manifest(meta, self.day, begun, kept)
        checksum = manifest.write(self.place, self.folder, listed)
        crash_point("manifest-written")
        exporting.done(self.conn, self.schema, self.day, begun, self.place.location, checksum)
        crash_point("export-recorded")
        self.place.tidy(self.folder)
        return written - begun.written

    def _refuse_other_ledgers(self, mine: str) -> None:
        found, _ = manifest.read(self.place, self.folder)
        for one in found:
            if one.manifest.ledger_id != mine:
                raise ExportFailed(
                    f"In {self.place.location} lies {self.day} of another ledger,"
                    f" {one.manifest.ledger_id}.",
                    hint=f"Give each ledger a place of its own; this one is {mine}.",
                )

    def _record(self, begun: Begun, part: Part) -> None:
        try:
            exporting.add(self.conn, self.schema, self.day, begun, part)
        except LeaseLost:
            with suppress(ExportError):  # it is ours, and for certain in no record
                self.place.remove(part.path)
            raise

    def _kept(self, begun: Begun) -> list[Part]:
        """The files of earlier runs that stay, looked at again."""
        recorded = exporting.parts(self.conn, self.schema, self.day)
        kept = [part for part in recorded if begun.late or part.version == begun.version]
        try:
            for part in kept:
                checking.same(self.place, part.path, part.checksum, part.bytes)
        except ExportDamaged as damage:
            record = self._recorded()
            if record and exporting.verified(self.conn, self.schema, record, damage.what):
                hint = "Restore the file, or export the day again: that writes it anew."
            else:
                hint = f"Begin again: select {self.schema}.export_forget('{self.day}')."
            raise ExportDamaged(damage.what, hint=hint) from None
        return kept

    def _pages(self, begun: Begun, former: Former | None) -> Iterator[list[exporting.Row]]:
        """The rows of the version, page by page, from where it stands."""
        after = begun.after
        while True:
            if self.stopping():
                raise Stopped
            exporting.extend(self.conn, self.schema, self.day, begun)
            rows = exporting.page(self.conn, self.schema, self.day, after, self.sizes.page)
            if not rows:
                return
            after = (rows[-1][exporting.ID], rows[-1][exporting.FINISHED_AT])
            yield rows if former is None else former.lack(rows)

    def _write_part(
        self, version: int, number: int, pages: Iterator[list[exporting.Row]]
    ) -> Part | None:
        """Write rows until there are enough for a file and read it back; None: no more rows."""
        first = next((rows for rows in pages if rows), None)
        if first is None:
            return None
        path = f"{self.folder}/{manifest.part_name(version, number)}"
        measured: list[tuple[str, int]] = []
        with (
            self.place.write(
                path, lambda lying: measured.append(read_back(self.place, lying, file))
            ) as sink,
            PartFile(sink) as file,
        ):
            file.take(first)
            while file.rows < self.sizes.part and (rows := next(pages, None)) is not None:
                file.take(rows)
        ((checksum, length),) = measured
        assert file.first is not None
        assert file.last is not None
        return Part(
            version, number, file.rows, length, file.first[0], file.last[0], file.last[1],
            checksum, self.place.location, path,
        )  # fmt: skip

    def _look_at_files(self) -> None:
        """Files of an earlier run are looked at again before the database lets go of the rows."""
        record = self._recorded()
        assert record is not None
        found = checking.check(self.place, self.folder, record)
        exporting.verified(self.conn, self.schema, record, found.damage)
        if found.damage is not None:
            raise ExportDamaged(
                found.damage,
                hint=f"{self.day} is not dropped: export it again, or restore the file.",
            )

    def _recorded(self) -> Exported | None:
        records = exporting.records(self.conn, self.schema, self.place.location)
        return next((one for one in records if one.day == self.day), None)

    def _retire(self) -> str:
        """Steps until the day is dropped, or has late rows."""
        until = time.monotonic() + PATIENCE
        for status, remaining in exporting.retire(
            self.conn, self.schema, self.day, self.sizes.step
        ):
            if status == "late":
                return "late"
            if status in ("dropped", "none"):
                crash_point("day-dropped")
                return "dropped"
            if status == "more":
                crash_point("retire-step")
                self.tell(Told(self.day, "retiring", remaining))
                until = time.monotonic() + PATIENCE
            elif status != "busy":
                raise ExportFailed(f"{self.day} cannot be retired: it is {status}.")
            elif time.monotonic() > until:
                raise ExportFailed(
                    f"{self.day} is exported, and its partition cannot be dropped now: open"
                    " transactions hold the archive.",
                    hint="Nothing is lost; run the export again when they have ended.",
                )
            else:
                self._pause()
            if self.stopping():
                raise Stopped
        raise AssertionError("retire always answers")

    def _pause(self) -> None:
        if self.stopping():
            raise Stopped
        time.sleep(PAUSE)
