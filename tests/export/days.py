"""Days of history made by one statement each, and what is left of them in database and files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from emq_sql.upkeep.export import choosing, manifest
from emq_sql.upkeep.export.day import DayExport, Sizes
from emq_sql.upkeep.export.places import Directory
from tests.protocol.calls import Ledger
from tests.protocol.history import days_ago

ROWS = int(os.environ.get("EMQ_SQL_EXPORT_ROWS", "16000"))
CAMPAIGN = ROWS > 100_000  # by hand: make export

_JOBS = """
insert into emq.job (id, enqueued_at, priority, queue, task, payload)
select emq.job_id(%(day)s || ' ' || g, %(day)s::date + g * interval '10 ms'),
       %(day)s::date + g * interval '10 ms', 2, 'default', 'send_mail',
       jsonb_build_object('order', g, 'text', repeat(md5(g::text), %(blocks)s))
  from generate_series(1, %(n)s) g
"""
_ENDS = """
insert into emq.archive
  (id, fence, finished_at, claimed_at, attempts, stalled, failures, status, queue, worker, result)
select j.id, 1::bigint << 40, j.enqueued_at + interval '1 s', j.enqueued_at, 1, 0, 0, 'completed',
       j.queue, 'host:1', '{"sent": true}'
  from emq.job j where j.enqueued_at >= %(day)s::date and j.enqueued_at < %(day)s::date + 1
"""


def filled(ledger: Ledger, ago: int, n: int, blocks: int = 1) -> date:
    """A day, so many days ago, with n completed jobs, each with so many times 32 bytes."""
    day = days_ago(ledger, ago)
    given = {"day": day, "n": n, "blocks": blocks}
    ledger.conn.execute(_JOBS, given)
    ledger.conn.execute(_ENDS, given)
    ledger.run("analyze emq.job")
    return day


def close(ledger: Ledger, *days: date) -> None:
    for day in days:
        ledger.until(
            lambda day=day: ledger.one("select status from emq.closed(%s)", day) == "closed",  # type: ignore[misc]
            f"{day} is closed",
        )


def exporter(ledger: Ledger, folder: Path, day: date, **given: Any) -> DayExport:
    """Of small files and pages, so that there are several."""
    sizes = given.pop("sizes", Sizes(part=1000, page=400, step=500))
    return DayExport(ledger.conn, "emq", Directory(folder), day, sizes, **given)


def in_files(folder: Path, day: date) -> Counter[str]:
    """How often each id is in the files that the day's manifest lists."""
    found: Counter[str] = Counter()
    if manifests(folder, day):
        listed = choosing.chosen(Directory(folder), day.isoformat()).manifest
        for part in listed.parts:
            found.update(ids_of(folder / day.isoformat() / part.name))
    return found


def manifests(folder: Path, day: date) -> list[Path]:
    """The day's, oldest version first."""
    there = (folder / day.isoformat()).glob("_*")
    return sorted(path for path in there if manifest.NAME.fullmatch(path.name))


def parts(folder: Path, day: date) -> list[Path]:
    """The day's, in the order of their rows."""
    there = (folder / day.isoformat()).glob("part-*")
    return sorted(path for path in there if manifest.PART_NAME.fullmatch(path.name))


def recorded(ledger: Ledger, folder: Path) -> Counter[str]:
    """How often each id is in the files that the database has on record."""
    found: Counter[str] = Counter()
    for path in ledger.column("select path from emq.export_part"):
        found.update(ids_of(folder / path))
    return found


def in_database(ledger: Ledger, day: date) -> Counter[str]:
    """How often each id is in the archive of the day."""
    query = "select id::text from emq.archive where finished_at >= %s and finished_at < %s"
    return Counter(ledger.column(query, day, day + timedelta(1)))


def ids_of(path: Path) -> Iterator[str]:
    yield from pq.read_table(path, columns=["id"]).column("id").to_pylist()
