"""History for the tests of retention: rows are dated back, because a clock cannot be."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any, cast
from uuid import UUID

from tests.protocol.calls import Ledger

Step = tuple[str, str | None, int | None]
MOST_STEPS = 500
MOST_BUSY = 60  # each has waited for a lock


def days_ago(ledger: Ledger, n: int) -> date:
    """That day, in UTC, with partitions for it."""
    found = cast(date, ledger.one("select (now() at time zone 'utc')::date - %s", n))
    ledger.rows("select emq.archive_days(-1, %s)", found + timedelta(1))
    return found


def partition(ledger: Ledger, day: date, parent: str = "archive") -> bool:
    """Whether this day has a partition."""
    return bool(ledger.one("select to_regclass(%s) is not null", f"emq.{parent}_{day:%Y%m%d}"))


def minted(ledger: Ledger, n: int, day: date) -> list[UUID]:
    """n new ids of that day, in order."""
    return ledger.column(
        "select emq.job_id(gen_random_uuid()::text, %s + g * interval '1 s')"
        " from generate_series(1, %s) g", day, n,
    )  # fmt: skip


def finished(
    ledger: Ledger, n: int, day: date, queue: str = "old", hour: int = 5, how: str = "completed"
) -> list[UUID]:
    """n jobs of that day that ended on it, in id order."""
    ids = minted(ledger, n, day)
    ledger.add_many(ids, queue, max_attempts=[1] * n)
    if how == "completed":
        ledger.complete(*ledger.claim(n, queue))
    elif how == "cancelled":
        for id in ids:
            ledger.operate("cancel", id)
    else:
        ledger.retry(*ledger.claim(n, queue), error="boom")
        for id in ids:
            ledger.operate("discard", id)
    date_back(ledger, ids, day, hour)
    return ids


def date_back(ledger: Ledger, ids: Sequence[UUID], day: date, hour: int = 5) -> None:
    """They were enqueued when the day began, and ended at that hour of it."""
    ledger.run("update emq.job set enqueued_at = %s where id = any(%s)", day, list(ids))
    ledger.run(
        "update emq.archive set finished_at = %s + %s * interval '1 h' where id = any(%s)",
        day, hour, list(ids),
    )  # fmt: skip


def attempts_back(ledger: Ledger, ids: Sequence[UUID], day: date, hour: int = 5) -> None:
    """Their attempts began and ended at that hour."""
    ledger.run(
        "update emq.attempt set claimed_at = %s + %s * interval '1 h',"
        " ended_at = %s + %s * interval '1 h' where id = any(%s)",
        day, hour, day, hour, list(ids),
    )  # fmt: skip


def dead(ledger: Ledger, n: int, day: date, queue: str = "default") -> list[UUID]:
    """n dead letters of that day, each with one attempt."""
    ids = minted(ledger, n, day)
    ledger.add_many(ids, queue, max_attempts=[1] * n)
    ledger.retry(*ledger.claim(n, queue), error="boom")
    ledger.run("update emq.job set enqueued_at = %s where id = any(%s)", day, ids)
    ledger.run("update emq.dead set died_at = %s where id = any(%s)", day + timedelta(0, 9), ids)
    attempts_back(ledger, ids, day)
    return ids


def ledger_keeps(ledger: Ledger, **settings: str) -> None:
    """Settings of the ledger."""
    for name, value in settings.items():
        ledger.rows("select emq.set_ledger(jsonb_build_object(%s::text, %s::text))", name, value)


def queue_keeps(ledger: Ledger, queue: str, **settings: str | None) -> None:
    """Settings of a queue."""
    for name, value in settings.items():
        ledger.rows(
            "select emq.set_queue(%s, jsonb_build_object(%s::text, %s::text))", queue, name, value
        )


def tidy(ledger: Ledger, limit: int = 10) -> Step:
    """One step."""
    return cast(Step, ledger.row("select did, what, remaining from emq.tidy(%s)", limit))


def tidied(ledger: Ledger, limit: int = 10) -> list[Step]:
    """Steps until there is nothing to do; a busy one again: autovacuum may have the table."""
    steps: list[Step] = []
    busy = 0
    while (step := tidy(ledger, limit))[0] != "nothing":
        assert len(steps) < MOST_STEPS, steps[-5:]
        if step[0] == "busy":
            busy += 1
            assert busy < MOST_BUSY, step
        else:
            steps.append(step)
    return steps


def kept(ledger: Ledger, ids: Sequence[UUID]) -> int:
    """How many of these have their archive row."""
    return cast(int, ledger.one("select count(*) from emq.archive where id = any(%s)", list(ids)))


def envelopes(ledger: Ledger, ids: Sequence[UUID]) -> int:
    """How many of these have their envelope."""
    return cast(int, ledger.one("select count(*) from emq.job where id = any(%s)", list(ids)))


def audited(ledger: Ledger, verb: str) -> list[Any]:
    """The details of this verb's audit rows, in order."""
    return ledger.column("select detail from emq.audit where verb = %s order by at", verb)
