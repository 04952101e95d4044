"""Weeks of a ledger, lived through on a server whose clock is moved on day by day."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.plugins.clock import moved_server
from tests.plugins.own_server import kind_of
from tests.plugins.running import PgServer
from tests.protocol.calls import Held, Ledger
from tests.protocol.history import ledger_keeps, queue_keeps, tidied

DAYS = 13
LONGEST = 6
SHORT = 2


@dataclass
class Life:
    """What was done on which day, counted back from today."""

    ledger: Ledger
    completed: dict[int, UUID] = field(default_factory=dict)
    short: dict[int, UUID] = field(default_factory=dict)
    in_flight: dict[int, tuple[datetime, UUID]] = field(default_factory=dict)
    letter: UUID | None = None
    waiting: UUID | None = None

    def start(self, queue: str, **named: Any) -> Held:
        """A new job, claimed; the server mints its id, whose clock is not ours."""
        self.ledger.add_one(queue, id=None, **named)
        return self.ledger.take(queue)

    def day(self, number: int) -> None:
        """A day's work and its upkeep."""
        one = self.ledger
        if self.letter is None:
            letter, waiting = self.start("dead", max_attempts=1), self.start("slow")
            self.letter, self.waiting = letter.id, waiting.id
            one.retry(letter, error="boom")
            one.retry(waiting, error="once", delay=f"{DAYS - 1} days")
        one.maintain()
        held = self.start("q")
        self.in_flight[number] = one.one("select clock_timestamp()"), held.id
        one.complete(held)
        self.completed[number] = held.id
        short = self.start("short")
        one.complete(short)
        self.short[number] = short.id
        tidied(one, limit=100)


@pytest.fixture(scope="module")
def life(pg_server: PgServer) -> Iterator[Life]:
    """The life of a ledger that keeps six days, and two for one queue."""
    with moved_server(kind_of(pg_server)) as server:
        server.set(days=-DAYS)
        with psycopg.connect(server.dsn, autocommit=True) as conn:
            life = Life(Ledger(conn))
            ledger_keeps(life.ledger, retention=f"{LONGEST} d")
            queue_keeps(life.ledger, "short", retention=f"{SHORT} d")
            for number in range(DAYS, -1, -1):
                server.set(days=-number)
                life.day(number)
            yield life


def kept(life: Life, table: str, ids: dict[int, UUID]) -> list[int]:
    """The days whose jobs are there, the youngest first."""
    there = life.ledger.column(f"select id from emq.{table} where id = any(%s)", [*ids.values()])
    return sorted(number for number, id in ids.items() if id in there)


def test_days_are_made_ahead_dropped_when_they_are_old_and_never_missing(life: Life) -> None:
    names = life.ledger.column("select right(name, 8) from emq.days_of('archive')")
    today = life.ledger.one("select (now() at time zone 'utc')::date")
    wanted = [today + timedelta(n) for n in range(-LONGEST, 4)]
    assert names == [f"{day:%Y%m%d}" for day in wanted]
    assert life.ledger.one("select count(*) from emq.archive_default") == 0
    dropped = life.ledger.one(
        "select count(*) from emq.audit where verb = 'retire' and detail ? 'day'"
    )
    assert dropped == DAYS + 1 - LONGEST  # the day before the first had its partition too


@pytest.mark.parametrize("table", ["archive", "job"])
def test_each_job_is_kept_for_as_long_as_its_queue_says(life: Life, table: str) -> None:
    assert kept(life, table, life.completed) == list(range(LONGEST + 1))
    assert kept(life, table, life.short) == list(range(SHORT + 1))


def test_a_dead_letter_is_kept_with_its_attempts(life: Life) -> None:
    assert life.letter is not None
    assert life.ledger.place(life.letter) == "dead"
    told = life.ledger.column("select event from emq.story(%s)", life.letter)
    assert told == ["enqueued", "claimed", "failed", "dead"]


def test_what_was_in_flight_is_known_for_as_long_as_it_is_kept(life: Life) -> None:
    for number, (at, id) in life.in_flight.items():
        found = life.ledger.column("select id from emq.as_of(%s)", at)
        assert found == ([id] if number <= LONGEST else [])


def test_a_job_that_waited_longer_than_every_retention_completes(life: Life) -> None:
    assert life.waiting is not None
    life.ledger.wait("exists (select from emq.promote()) and exists (select from emq.pending)")
    held = life.ledger.take("slow")
    assert (held.id, held.attempts, held.failures) == (life.waiting, 2, 1)
    assert life.ledger.complete(held) == ["done"]
    told = life.ledger.column("select event from emq.story(%s)", life.waiting)
    assert told == ["enqueued", "claimed", "failed", "claimed", "completed", "archived"]
