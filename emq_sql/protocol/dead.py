"""Dead letters: listed, grouped, and told whole; counted, replayed and discarded by a filter.

A filter is what `rules.dead_filter` writes. Verbs with chunks do one a call, committed by itself
when the connection is in autocommit: who is interrupted has done what was answered.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from emq_sql.job import Answer
from emq_sql.protocol.adapt import cursor, naming
from emq_sql.protocol.rows import Row, read

Filter = Mapping[str, Any]
Place = dict[str, Any]  # the last letter looked at: opaque, to be given back
ReplayAnswer = Literal["done", "busy", "lost", "never", "too old"]


@dataclass(frozen=True, slots=True)
class ReplayCount:
    """What a replay would do: how many go back, how many stay and why, at that instant."""

    at: datetime
    replay: int
    permanent: int
    never: int
    too_old: int

    @property
    def letters(self) -> int:
        """All that the filter chooses."""
        return self.replay + self.permanent + self.never + self.too_old


@dataclass(frozen=True, slots=True)
class Replayed:
    """One chunk of a replay, or all: what went back, what stayed and why, which queues got jobs.

    `busy` are held by another transaction. No `next`: it was the last chunk.
    """

    replayed: int
    permanent: int
    never: int
    too_old: int
    busy: int
    queues: list[str]
    next: Place | None

    def then(self, later: Replayed) -> Replayed:
        """This chunk and the next one as one."""
        return Replayed(
            self.replayed + later.replayed, self.permanent + later.permanent,
            self.never + later.never, self.too_old + later.too_old, self.busy + later.busy,
            sorted({*self.queues, *later.queues}), later.next,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Discarded:
    """One chunk of a discard, or all. No `next`: it was the last chunk."""

    discarded: int
    busy: int
    next: Place | None

    def then(self, later: Discarded) -> Discarded:
        """This chunk and the next one as one."""
        return Discarded(self.discarded + later.discarded, self.busy + later.busy, later.next)


def listed(
    conn: psycopg.Connection[Any], schema: str, chosen: Filter, limit: int = 100,
    after: Row | None = None,
) -> list[Row]:  # fmt: skip
    """Dead letters, newest first; those that follow the row `after`."""
    query = f"select * from {schema}.dead_list(%s, %s, %s)"
    place = None if after is None else {name: str(after[name]) for name in ("died_at", "id")}
    return read(conn, query, [Jsonb(dict(chosen)), limit, _jsonb(place)])


def groups(
    conn: psycopg.Connection[Any], schema: str, chosen: Filter, limit: int = 50
) -> list[Row]:
    """Those that died of the same in one row, the largest group first."""
    query = f"select * from {schema}.dead_groups(%s, %s)"
    return read(conn, query, [Jsonb(dict(chosen)), limit])


def letter(conn: psycopg.Connection[Any], schema: str, job: UUID) -> Row | None:
    """One dead letter, its error whole; None when the job is not dead."""
    rows = read(conn, f"select * from {schema}.dead_letter(%s)", [job])
    return rows[0] if rows else None


def replay_count(conn: psycopg.Connection[Any], schema: str, chosen: Filter) -> ReplayCount:
    """What a replay would do; nothing is done."""
    query = f"select at, replay, permanent, never, too_old from {schema}.replay_count(%s)"
    (row,) = read(conn, query, [Jsonb(dict(chosen))])
    return ReplayCount(**row)


def replay_many(
    conn: psycopg.Connection[Any], schema: str, chosen: Filter, limit: int,
    label: str | None = None, after: Place | None = None,
) -> Replayed:  # fmt: skip
    """Put a chunk of dead letters back into the line, those that died first first."""
    query = (
        "select replayed, permanent, never, too_old, busy, queues, next"
        f" from {schema}.replay_many(%s, %s, %s, %s)"
    )
    return Replayed(*_chunk(conn, query, [Jsonb(dict(chosen)), limit, label, _jsonb(after)]))


def replay_one(
    conn: psycopg.Connection[Any], schema: str, job: UUID, *, force: bool = False,
    label: str | None = None,
) -> ReplayAnswer:  # fmt: skip
    """Put this one back; `force` overrides what its queue says of replays."""
    answer: ReplayAnswer = _row(
        conn, f"select {schema}.replay_one(%s, %s, %s)", [job, force, label]
    )[0]
    return answer


def discard_many(
    conn: psycopg.Connection[Any], schema: str, chosen: Filter, reason: str, limit: int,
    after: Place | None = None,
) -> Discarded:  # fmt: skip
    """Give a chunk of dead letters up, those that died first first."""
    query = f"select discarded, busy, next from {schema}.discard_many(%s, %s, %s, %s)"
    return Discarded(*_chunk(conn, query, [Jsonb(dict(chosen)), reason, limit, _jsonb(after)]))


def discard_one(conn: psycopg.Connection[Any], schema: str, job: UUID, reason: str) -> Answer:
    """Give this one up."""
    answer: Answer = _row(conn, f"select {schema}.discard(%s, %s)", [job, reason])[0]
    return answer


def _jsonb(place: Place | None) -> Jsonb | None:
    return None if place is None else Jsonb(place)


def _chunk(conn: psycopg.Connection[Any], query: str, params: list[Any]) -> tuple[Any, ...]:
    *rest, place = _row(conn, query, params)
    # Some frameworks tell psycopg to leave jsonb as text.
    return (*rest, json.loads(place) if isinstance(place, str) else place)


def _row(conn: psycopg.Connection[Any], query: str, params: list[Any]) -> tuple[Any, ...]:
    with naming(conn), cursor(conn) as c:
        row = c.execute(query.encode(), params).fetchone()
    assert row is not None
    return row
