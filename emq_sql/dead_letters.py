"""DeadLetters: what an application, or the command line, does with its dead letters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from functools import reduce
from typing import Any, Unpack
from uuid import UUID

import psycopg

from emq_sql.errors import BadSetting, EmqError
from emq_sql.job import Answer
from emq_sql.protocol import bell, dead
from emq_sql.protocol.dead import Discarded, Filter, ReplayAnswer, ReplayCount, Replayed
from emq_sql.protocol.rows import Row
from emq_sql.rules import dead_filter, ids
from emq_sql.rules.dead_filter import DeadFilter

Connection = psycopg.Connection[Any]

CHUNK = 500


class DeadLetters:
    """The dead letters of one ledger. What may be said of them is in DeadFilter.

    `connection` lends a connection in autocommit: each call is a transaction of its own, and of
    those that do many, each chunk. With `rings` workers are told of what was replayed.
    """

    def __init__(
        self, connection: Callable[[], AbstractContextManager[Connection]], schema: str, *,
        rings: bool,
    ) -> None:  # fmt: skip
        self._connection = connection
        self._schema = schema
        self._rings = rings

    def find(
        self, limit: int = 100, after: Row | None = None, **chosen: Unpack[DeadFilter]
    ) -> list[Row]:
        """Those chosen, newest first; with the last row of a page as `after`, the next page."""
        with self._connection() as conn:
            return dead.listed(conn, self._schema, dead_filter.written(chosen), limit, after)

    def groups(self, limit: int = 50, **chosen: Unpack[DeadFilter]) -> list[Row]:
        """Those chosen by task, reason and error, the largest group first."""
        with self._connection() as conn:
            return dead.groups(conn, self._schema, dead_filter.written(chosen), limit)

    def get(self, job_id: UUID | str) -> Row | None:
        """One dead letter, its error whole; None when the job is not dead."""
        with self._connection() as conn:
            return dead.letter(conn, self._schema, ids.check(job_id))

    def count(self, **chosen: Unpack[DeadFilter]) -> ReplayCount:
        """What a replay of those chosen would do."""
        with self._connection() as conn:
            return dead.replay_count(conn, self._schema, dead_filter.written(chosen))

    def replay(
        self, job_id: UUID | str, *, force: bool = False, label: str | None = None
    ) -> ReplayAnswer:
        """Put this one back into its line, with a fresh budget; see emq.replay_one.

        Answers done, busy (ask again), lost (it is not dead), never or too old (its queue says so;
        `force` overrides that).
        """
        with self._connection() as conn:
            return replay(conn, self._schema, ids.check(job_id), force, label, rings=self._rings)

    def replay_many(
        self, *, everything: bool = False, label: str | None = None, **chosen: Unpack[DeadFilter]
    ) -> Replayed:
        """Put all those chosen back that may go, each once; see emq.replay_many.

        Permanent failures stay unless they are asked for by reason, id or include_permanent.
        Raises BadSetting when nothing is chosen, unless `everything` is meant.
        """
        written = _chosen(chosen, everything)
        with self._connection() as conn:
            chunks = replays(conn, self._schema, written, CHUNK, label, rings=self._rings)
            return reduce(Replayed.then, chunks)

    def discard(self, job_id: UUID | str, why: str) -> Answer:
        """Give this one up for good; answers done, busy (ask again) or lost (it is not dead)."""
        with self._connection() as conn:
            return dead.discard_one(conn, self._schema, ids.check(job_id), given(why))

    def discard_many(
        self, why: str, *, everything: bool = False, **chosen: Unpack[DeadFilter]
    ) -> Discarded:
        """Give all those chosen up for good, permanent failures or not.

        Raises BadSetting when nothing is chosen, unless `everything` is meant.
        """
        written = _chosen(chosen, everything)
        with self._connection() as conn:
            chunks = discards(conn, self._schema, written, given(why), CHUNK)
            return reduce(Discarded.then, chunks)


def replay(
    conn: Connection, schema: str, job: UUID, force: bool, label: str | None, *, rings: bool
) -> ReplayAnswer:
    """Replay one, and wake who waits for its queue."""
    letter = dead.letter(conn, schema, job) if rings else None
    answer = dead.replay_one(conn, schema, job, force=force, label=label)
    if letter is not None and answer == "done":
        _ring(conn, schema, [letter["queue"]])
    return answer


def replays(
    conn: Connection, schema: str, chosen: Filter, chunk: int, label: str | None, *,
    rings: bool, before: datetime | None = None,
) -> Iterator[Replayed]:  # fmt: skip
    """Replay chunk by chunk, each committed when it is answered; stop after any of them.

    No letter of after `before` (now, if left out) is touched: a job that goes back and dies again
    meanwhile is not met twice.
    """
    bounded = _until(chosen, before or dead.replay_count(conn, schema, {"ids": []}).at)
    place = None
    while True:
        done = dead.replay_many(conn, schema, bounded, chunk, label, place)
        if rings and done.queues:
            _ring(conn, schema, done.queues)
        yield done
        if (place := done.next) is None:
            return


def discards(
    conn: Connection, schema: str, chosen: Filter, reason: str, chunk: int,
    before: datetime | None = None,
) -> Iterator[Discarded]:  # fmt: skip
    """Discard chunk by chunk, as `replays` does it."""
    bounded = _until(chosen, before or dead.replay_count(conn, schema, {"ids": []}).at)
    place = None
    while True:
        done = dead.discard_many(conn, schema, bounded, reason, chunk, place)
        yield done
        if (place := done.next) is None:
            return


def given(reason: object) -> str:
    """The reason of a discard; raises BadSetting when there is none."""
    if not isinstance(reason, str) or not reason.strip():
        raise BadSetting(
            "Dead letters are discarded for a reason, and none is given.",
            hint="Say why: it is what the audit keeps.",
        )
    return reason


def _chosen(chosen: Mapping[str, object], everything: bool) -> dict[str, Any]:
    written = dead_filter.written(chosen)
    if dead_filter.says_nothing(written) and not everything:
        raise BadSetting("Nothing says which dead letters.", hint="Say it, or everything=True.")
    return written


def _until(chosen: Filter, before: datetime) -> dict[str, Any]:
    given = chosen.get("died_before")
    instants = [before] if given is None else [before, datetime.fromisoformat(given)]
    return {**chosen, "died_before": min(instants).isoformat()}


def _ring(conn: Connection, schema: str, queues: Iterable[str]) -> None:
    with suppress(EmqError):  # what was done is done, whether that is heard or not
        bell.ring_parked(conn, schema, list(queues))
