"""The SQL verbs as a psql user calls them: what the tests of the protocol speak.

`emq_sql.protocol` is left out on purpose: these tests are about the SQL, its SQLSTATEs and its
answers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from emq_sql.minting import new_id

PATIENCE = 20.0  # seconds that a test waits for the database before it fails


@dataclass(frozen=True, slots=True)
class Held:
    """One row that claim or claimed answered."""

    id: UUID
    fence: int
    attempts: int
    stalled: int
    failures: int
    lease_deadline: datetime
    lease_ms: int
    task: str
    payload: Any
    headers: Any
    enqueued_at: datetime

    @property
    def stale(self) -> tuple[UUID, int]:
        """The same job under a fence that nobody holds."""
        return self.id, self.fence + 1


Pair = Held | tuple[UUID | None, int | None]
Interval = str | None

_CLAIMED = (
    "id, fence, attempts, stalled, failures, lease_deadline, lease_ms, task, payload, headers,"
    " enqueued_at"
)


class Ledger:
    """One session; each method is one statement."""

    def __init__(self, conn: psycopg.Connection[Any]) -> None:
        self.conn = conn

    def rows(self, query: str, *params: Any) -> list[tuple[Any, ...]]:
        return self.conn.execute(query.encode(), params).fetchall()

    def row(self, query: str, *params: Any) -> tuple[Any, ...]:
        (found,) = self.rows(query, *params)
        return found

    def one(self, query: str, *params: Any) -> Any:
        (value,) = self.row(query, *params)
        return value

    def run(self, statement: str, *params: Any) -> None:
        self.conn.execute(statement.encode(), params)

    def column(self, query: str, *params: Any) -> list[Any]:
        return [value for (value,) in self.rows(query, *params)]

    def wait(self, condition: str, *params: Any) -> None:
        """Until the database says so."""
        self.until(lambda: bool(self.one(f"select {condition}", *params)), condition)

    def until(self, true: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not true():
            assert time.monotonic() < end, f"never came true: {what}"
            time.sleep(0.005)

    # Adding jobs

    def add(self, n: int = 1, queue: str = "default", **named: Any) -> list[UUID]:
        return [self.add_one(queue, **named) for _ in range(n)]

    def add_one(self, queue: str = "default", *, expect: str | None = None, **named: Any) -> UUID:
        """Enqueue one job; named parameters are those of emq.enqueue without `p_`."""
        named = {"task": "t", "payload": "{}", "id": new_id()} | named
        extra = ", ".join(f"p_{name} => %s" for name in named)
        id, status = self.row(
            f"select id, status from emq.enqueue(p_queue => %s, {extra})", queue, *named.values()
        )
        later = named.get("delay") or named.get("run_at")
        assert status == (expect or ("scheduled" if later else "enqueued"))
        return cast(UUID, id)

    def status(self, id: UUID, queue: str = "default") -> str:
        """What enqueue answers to this id."""
        query = "select status from emq.enqueue(%s, 't', '{}', %s)"
        return cast(str, self.one(query, queue, id))

    def add_many(self, ids: Sequence[UUID | None], queue: str = "default", **named: Any) -> Any:
        """The answers of emq.enqueue_many; named parameters without `p_`."""
        extra = "".join(f", p_{name} => %s{_CASTS[name]}" for name in named)
        return self.one(
            f"select emq.enqueue_many(%s, %s::uuid[], %s::text[], %s::jsonb[]{extra})",
            queue, list(ids), ["t"] * len(ids), ["{}"] * len(ids), *named.values(),
        )  # fmt: skip

    # Holding jobs

    def claim(
        self, n: int = 1, queue: str = "default", *, nonce: int = 7, lease: Interval = None,
        worker: str = "w1",
    ) -> list[Held]:  # fmt: skip
        query = f"select {_CLAIMED} from emq.claim(%s, %s, %s, %s::bigint, %s::interval)"
        return [Held(*row) for row in self.rows(query, queue, n, worker, nonce, lease)]

    def claim_any(self, n: int, *queues: str, nonce: int = 7) -> list[tuple[Held, str]]:
        """What was claimed, each with its queue."""
        query = f"select {_CLAIMED}, queue from emq.claim_any(%s, %s, 'w1', %s::bigint)"
        rows = self.rows(query, list(queues), n, nonce)
        return [(Held(*row[:-1]), row[-1]) for row in rows]

    def take(self, queue: str = "default", **named: Any) -> Held:
        """Exactly one claimed job."""
        (held,) = self.claim(1, queue, **named)
        return held

    def start(self, queue: str = "default", **named: Any) -> Held:
        """A new job, claimed."""
        id = self.add_one(queue)
        held = self.take(queue, **named)
        assert held.id == id
        return held

    def claimed(self, nonce: int) -> list[Held]:
        query = f"select {_CLAIMED} from emq.claimed(%s::bigint)"
        return [Held(*row) for row in self.rows(query, nonce)]

    def complete(self, *pairs: Pair, results: Sequence[str | None] | None = None) -> list[str]:
        query = "select emq.complete(%s::uuid[], %s::bigint[], %s::text[]::jsonb[])"
        return self._answers(query, pairs, results)

    def extend(self, *pairs: Pair, lease: Interval = None) -> list[str]:
        return self._answers(
            "select emq.extend(%s::uuid[], %s::bigint[], %s::interval)", pairs, lease
        )

    def keep(
        self, *pairs: Pair, queues: Sequence[str] | None = None, lease: Interval = None
    ) -> tuple[list[str], list[str]]:
        """The answers, and which of the queues are paused."""
        query = "select * from emq.keep(%s::uuid[], %s::bigint[], %s::text[], %s::interval)"
        split = [_pair(pair) for pair in pairs]
        ids, fences = [id for id, _ in split], [fence for _, fence in split]
        row = self.row(query, ids, fences, None if queues is None else list(queues), lease)
        return cast(tuple[list[str], list[str]], row)

    def stall_at_once(self, *pairs: Pair, error: str | None = None) -> list[str]:
        """emq.stall: the process that ran these has died."""
        query = "select emq.stall(%s::uuid[], %s::bigint[], %s::text[])"
        return self._answers(query, pairs, None if error is None else [error] * len(pairs))

    def retry(self, *pairs: Pair, delay: Interval = None, error: str | None = None) -> list[str]:
        query = "select emq.retry(%s::uuid[], %s::bigint[], %s::interval[], %s::text[])"
        n = len(pairs)
        return self._answers(
            query,
            pairs,
            None if delay is None else [delay] * n,
            None if error is None else [error] * n,
        )

    def fail(
        self, *pairs: Pair, reason: str, delay: Interval = None, error: str | None = None
    ) -> list[str]:
        query = "select emq.fail(%s::uuid[], %s::bigint[], %s::text[], %s::interval[], %s::text[])"
        n = len(pairs)
        delays = None if delay is None else [delay] * n
        return self._answers(query, pairs, [reason] * n, delays, error and [error] * n)

    def set_queue(self, queue: str = "default", **settings: object) -> None:
        """emq.set_queue: these settings, None resets one."""
        self.rows("select emq.set_queue(%s, %s)", queue, Jsonb(settings))

    def snooze(self, *pairs: Pair, delay: str) -> list[str]:
        query = "select emq.snooze(%s::uuid[], %s::bigint[], %s::interval[])"
        return self._answers(query, pairs, [delay] * len(pairs))

    def release(self, *pairs: Pair) -> list[str]:
        return self._answers("select emq.release(%s::uuid[], %s::bigint[])", pairs)

    def guard(self, pair: Pair) -> None:
        self.rows("select emq.guard(%s, %s::bigint)", *_pair(pair))

    def outcome(self, pair: Pair) -> str:
        return cast(str, self.one("select emq.outcome(%s, %s::bigint)", *_pair(pair)))

    def _answers(self, query: str, pairs: Sequence[Pair], *rest: Any) -> list[str]:
        split = [_pair(pair) for pair in pairs]
        answers = self.one(query, [id for id, _ in split], [fence for _, fence in split], *rest)
        return cast(list[str], answers)

    # Upkeep and operators

    def reap(self, limit: int = 500) -> tuple[int, int, int]:
        row = self.row("select recovered, dead, skipped from emq.reap(%s)", limit)
        return cast(tuple[int, int, int], row)

    def promote(self, limit: int = 1000) -> int:
        return cast(int, self.one("select emq.promote(%s)", limit))

    def maintain(self) -> bool:
        return cast(bool, self.one("select ran from emq.maintain()"))

    def operate(self, verb: str, id: UUID, label: str | None = None) -> str:
        """cancel, replay or discard."""
        return cast(str, self.one(f"select emq.{verb}(%s, %s)", id, label))

    def retire(self, day: Any, limit: int = 10) -> tuple[str, int | None]:
        row = self.row("select status, remaining from emq.retire(%s, %s)", day, limit)
        return cast(tuple[str, int | None], row)

    # Looking

    def place(self, id: UUID) -> str:
        return cast(str, self.one("select place from emq.place(%s)", id))

    def expire(self, *held: Held) -> None:
        """Wait until the leases are over by the server's clock."""
        for one in held:
            self.wait(
                "not exists (select from emq.active where id = %s and fence = %s"
                " and lease_deadline >= clock_timestamp())", one.id, one.fence,
            )  # fmt: skip

    def abandoned(self, queue: str = "default", **named: Any) -> Held:
        """A new job whose lease has run out, and that nobody has reaped."""
        held = self.start(queue, lease="1 ms", **named)
        self.expire(held)
        return held

    def stall(self, queue: str = "default", **named: Any) -> Held:
        """Claim whatever is first under a lease that runs out at once, and reap it."""
        held = self.take(queue, lease="1 ms", **named)
        self.expire(held)
        self.reap()
        return held


_CASTS = {
    "priorities": "::int[]", "run_ats": "::timestamptz[]", "delays": "::interval[]",
    "max_attempts": "::int[]", "leases": "::interval[]", "headers": "::jsonb[]",
}  # fmt: skip


def _pair(pair: Pair) -> tuple[UUID | None, int | None]:
    return (pair.id, pair.fence) if isinstance(pair, Held) else pair


@contextmanager
def refused(sqlstate: str, *, hint: str | None = None, names: object = None) -> Iterator[None]:
    """The statement is refused with this SQLSTATE, and the hint and the message say what to do."""
    with pytest.raises(psycopg.Error) as caught:
        yield
    assert caught.value.sqlstate == sqlstate, caught.value
    assert hint is None or hint in (caught.value.diag.message_hint or "")
    assert names is None or str(names) in (caught.value.diag.message_primary or "")
