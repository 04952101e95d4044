"""Dead letters as jobs become them, and the verbs that deal with many: what their tests speak."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from tests.protocol.calls import Held, Ledger

REASONS = ("exception", "stalled", "timeout", "permanent", "no handler", "expired")


def die(
    ledger: Ledger, queue: str = "default", *, reason: str = "exception", error: str = "boom",
    worker: str = "w1", **named: Any,
) -> Held:  # fmt: skip
    """A job that ran once, and is a dead letter by now; the queue must be empty before."""
    if reason == "no handler":
        ledger.set_queue(queue, unknown_after="1 us")
    ledger.add_one(queue, max_attempts=1, **named)
    held = ledger.take(queue, worker=worker, lease="1 ms" if reason == "stalled" else None)
    if reason == "stalled":
        ledger.expire(held)
        ledger.reap()
    else:
        assert ledger.fail(held, reason=reason, error=error) == ["dead"]
    return held


def old(ledger: Ledger, held: Held) -> None:
    """As a letter of an earlier schema: only its envelope and its error say what it is."""
    ledger.run(
        "update emq.dead set task = null, worker = null, fingerprint = null where id = %s", held.id
    )


def found(ledger: Ledger, limit: int = 100, **chosen: Any) -> list[UUID]:
    """What dead_list answers, newest first."""
    return ledger.column("select id from emq.dead_list(%s, %s)", Jsonb(chosen), limit)


@dataclass(frozen=True, slots=True)
class Chunk:
    """One answer of replay_many."""

    replayed: int
    permanent: int
    never: int
    too_old: int
    busy: int
    queues: list[str]
    next: Any

    @property
    def stays(self) -> dict[str, int]:
        """What is left, by the reason why, without those that are none."""
        every = {
            "permanent": self.permanent, "never": self.never, "too old": self.too_old,
            "busy": self.busy,
        }  # fmt: skip
        return {name: count for name, count in every.items() if count}


def replay(
    ledger: Ledger, limit: int = 500, label: str | None = None, after: Any = None, **chosen: Any
) -> Chunk:
    """One chunk of what the filter chooses."""
    place = None if after is None else Jsonb(after)
    query = "select * from emq.replay_many(%s, %s, %s, %s)"
    return Chunk(*ledger.row(query, Jsonb(chosen), limit, label, place))


def discard(
    ledger: Ledger, reason: str | None = "no use", limit: int = 500, after: Any = None,
    **chosen: Any,
) -> tuple[int, int, Any]:  # fmt: skip
    """How many, how many are busy, and what to go on from."""
    place = None if after is None else Jsonb(after)
    query = "select * from emq.discard_many(%s, %s, %s, %s)"
    discarded, busy, after = ledger.row(query, Jsonb(chosen), reason, limit, place)
    return discarded, busy, after


def line(ledger: Ledger, queue: str = "default") -> list[UUID]:
    """The ids that wait in a queue, in the order in which they would be claimed."""
    return ledger.column("select id from emq.pending where queue = %s order by rank, ord", queue)
