"""What is done to dead letters chunk by chunk, at a pace, until it is done or somebody stops it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar
from uuid import UUID

import click

from emq_sql.cli.output import show
from emq_sql.cli.progress import progress
from emq_sql.cli.stopping import Pace, Stop
from emq_sql.errors import BadSetting, EmqError
from emq_sql.protocol.dead import Discarded, Replayed
from emq_sql.rules import dead_filter, ids
from emq_sql.rules.names import shown

Chunk = TypeVar("Chunk", Replayed, Discarded)

ANSWERS = {"id": "job", "answer": "answer"}
_RATE = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)(?:/(s|min|h))?")
_SECONDS = {"s": 1, "min": 60, "h": 3600}


def rate(text: str | None) -> float | None:
    """How many a second `100/s`, `600/min` or `50/h` are; a number alone is a second's.

    Raises BadSetting.
    """
    if text is None:
        return None
    found = _RATE.fullmatch(text.strip())
    if not found or float(found[1]) <= 0:
        raise BadSetting(
            f"--rate is {shown(text)}, which is no rate.",
            hint="Write for example 100/s or 600/min.",
        )
    return float(found[1]) / _SECONDS[found[2] or "s"]


def targets(job_ids: Sequence[str], wanted: Mapping[str, Any], everything: bool) -> list[UUID]:
    """The ids; none when a filter or --all says which. Raises UsageError unless one does."""
    says = not dead_filter.says_nothing(wanted)
    if [bool(job_ids), says, everything].count(True) != 1:
        raise click.UsageError(
            "Say which dead letters: by their ids, by a filter such as --queue or --fingerprint,"
            " or --all."
        )
    if job_ids and wanted:
        raise click.UsageError("Who names jobs needs no --include-permanent.")
    return [ids.check(job_id) for job_id in job_ids]


def run(
    what: str, all_of_them: int, stop: Stop, pace: Pace, chunks: Iterator[Chunk],
    count: Callable[[Chunk], int],
) -> tuple[Chunk | None, bool]:  # fmt: skip
    """Do them; answers what was done, and whether it was stopped before the end."""
    done: Chunk | None = None
    with progress(what, all_of_them) as tell:
        while not stop.asked:
            try:
                chunk = next(chunks)
            except StopIteration:
                return done, False
            except (EmqError, KeyboardInterrupt):
                if done is not None:
                    told = f"{what} {count(done):,} of {all_of_them:,} before this:"
                    click.echo(told, err=True)
                raise
            done = chunk if done is None else done.then(chunk)
            tell(count(done))
            if chunk.next is None:
                return done, False
            stop.wait(pace.pause(count(chunk)))
    return done, True


def each(job_ids: Sequence[UUID], act: Callable[[UUID], str], good: str, *, as_json: bool) -> bool:
    """Act on one after the other and tell the answers; whether all were good."""
    rows = [{"id": str(job_id), "answer": act(job_id)} for job_id in job_ids]
    show(rows, ANSWERS, as_json=as_json)
    return all(row["answer"] == good for row in rows)
