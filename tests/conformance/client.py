"""The client under test, whatever it is written in: what producers and workers ask of the ledger.

The words and the shape of the answers are those of docs/reference/protocol.md, "Judge a client":
JSON values only, durations in seconds. Operators and readers are played by the tests themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from emq_sql.minting import new_id

SHORT = 0.2  # seconds; the shortest lease that a setting may name


class Speaker(Protocol):
    """Carries one call to the client under test, and its answer back."""

    def call(self, session: str, verb: str, given: Mapping[str, Any]) -> Any:
        """The answer; raises ClientRefused for an error that the client reported."""


class ClientRefused(Exception):
    """An error that the client under test reported: a code and a sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


@dataclass(frozen=True, slots=True)
class Held:
    """One row that claim or claimed answered."""

    id: UUID
    fence: int
    attempts: int
    stalled: int
    failures: int
    lease_deadline: datetime
    task: str
    payload: Any

    @property
    def stale(self) -> Held:
        """The same job under a fence that nobody holds."""
        return Held(
            self.id, self.fence + 1, self.attempts, self.stalled, self.failures,
            self.lease_deadline, self.task, self.payload,
        )  # fmt: skip


class Client:
    """One session of the client under test; each method is one call, committed when it answers."""

    def __init__(self, speaker: Speaker, dsn: str, session: str = "first") -> None:
        self._speaker = speaker
        self._dsn = dsn
        self._session = session
        speaker.call(session, "connect", {"dsn": dsn})

    def again(self, session: str) -> Client:
        """Another session of the same client, on a connection of its own."""
        return Client(self._speaker, self._dsn, session)

    # Adding jobs

    def enqueue(self, queue: str = "q", id: UUID | None = None, **given: Any) -> tuple[UUID, str]:
        """The id, and enqueued, scheduled or duplicate. `given`: task, payload, priority, delay,
        max_attempts, lease."""
        id = id or new_id()
        named = {"queue": queue, "id": str(id), "task": "t", "payload": {}} | given
        return id, self._call("enqueue", **named)

    def add(self, n: int = 1, queue: str = "q", **given: Any) -> list[UUID]:
        """New jobs in the line."""
        answers = [self.enqueue(queue, **given) for _ in range(n)]
        assert {status for _, status in answers} <= {"enqueued"}
        return [id for id, _ in answers]

    def enqueue_many(self, ids: Sequence[UUID], queue: str = "q") -> list[str]:
        jobs = [{"id": str(id), "task": "t", "payload": {}} for id in ids]
        answers: list[str] = self._call("enqueue_many", queue=queue, jobs=jobs)
        return answers

    def job_id(self, key: str, at: datetime) -> UUID:
        return UUID(self._call("job_id", key=key, at=at.isoformat()))

    # Holding jobs

    def claim(
        self, n: int = 1, queue: str = "q", *, nonce: int = 7, lease: float | None = None
    ) -> list[Held]:
        named = {"queue": queue, "n": n, "worker": "w1", "nonce": nonce, "lease": lease}
        return [_held(row) for row in self._call("claim", **named)]

    def take(self, queue: str = "q", **given: Any) -> Held:
        """Exactly one claimed job."""
        (held,) = self.claim(1, queue, **given)
        return held

    def claimed(self, nonce: int) -> list[Held]:
        return [_held(row) for row in self._call("claimed", nonce=nonce)]

    def complete(self, *held: Held, results: Sequence[Any] | None = None) -> list[str]:
        return self._holding("complete", held, results=results)

    def extend(self, *held: Held, lease: float | None = None) -> list[str]:
        return self._holding("extend", held, lease=lease)

    def keep(self, *held: Held, queues: Sequence[str] = ()) -> tuple[list[str], list[str]]:
        answer = self._call("keep", **_pairs(held), queues=list(queues))
        return answer["answers"], answer["paused"]

    def retry(self, *held: Held, delay: float = 0.0, error: str = "boom") -> list[str]:
        n = len(held)
        return self._holding("retry", held, delays=[delay] * n, errors=[error] * n)

    def snooze(self, *held: Held, delay: float) -> list[str]:
        return self._holding("snooze", held, delays=[delay] * len(held))

    def release(self, *held: Held) -> list[str]:
        return self._holding("release", held)

    def stall(self, *held: Held, error: str = "died") -> list[str]:
        return self._holding("stall", held, errors=[error] * len(held))

    def outcome(self, held: Held) -> str:
        answer: str = self._call("outcome", id=str(held.id), fence=held.fence)
        return answer

    def result(self, id: UUID) -> Any:
        """The result of a completed job in a list of one; an empty one when there is none."""
        return self._call("result", id=str(id))

    def maintain(self) -> None:
        self._call("maintain")

    def _holding(self, verb: str, held: Sequence[Held], **rest: Any) -> list[str]:
        answers: list[str] = self._call(verb, **_pairs(held), **rest)
        return answers

    def _call(self, verb: str, **given: Any) -> Any:
        return self._speaker.call(self._session, verb, given)


def _pairs(held: Sequence[Held]) -> dict[str, Any]:
    return {"ids": [str(one.id) for one in held], "fences": [one.fence for one in held]}


def _held(row: Mapping[str, Any]) -> Held:
    return Held(
        UUID(row["id"]), row["fence"], row["attempts"], row["stalled"], row["failures"],
        datetime.fromisoformat(row["lease_deadline"]), row["task"], row["payload"],
    )  # fmt: skip
