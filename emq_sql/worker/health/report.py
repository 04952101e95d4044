"""One answer to the question how a worker is: as JSON for programs, as lines for people."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from emq_sql.worker.health.condition import Bounds, Condition, condition
from emq_sql.worker.pulse import Pulse, Reading

Question = Literal["live", "ready"]
QUESTIONS: tuple[Question, ...] = ("live", "ready")


@dataclass(frozen=True, slots=True)
class Facts:
    """What does not change while a worker runs."""

    worker: str
    queues: tuple[str, ...]
    kind: str
    connections: int
    versions: Mapping[str, str | int]


class Reporter:
    """Makes a report from the facts and from what the threads have said; locks nothing."""

    def __init__(self, facts: Facts, pulse: Pulse, bounds: Bounds) -> None:
        self._facts = facts
        self._pulse = pulse
        self._bounds = bounds

    def __call__(self) -> Report:
        """How the worker is now."""
        reading = self._pulse.reading()
        facts = self._facts
        state = condition(reading, facts.queues, self._bounds)
        return Report(facts, reading, state)


@dataclass(frozen=True, slots=True)
class Report:
    """How a worker is at one instant."""

    facts: Facts
    reading: Reading
    condition: Condition

    def says(self, question: Question) -> tuple[bool, str]:
        """Yes or no, and a line for people: the word itself, or each reason against it."""
        reasons = self.against(question)
        return not reasons, line(question, reasons)

    def against(self, question: Question) -> tuple[str, ...]:
        """The reasons against a yes; none is a yes."""
        state = self.condition
        return state.not_alive if question == "live" else (*state.not_alive, *state.not_ready)

    def as_json(self) -> str:
        """Everything, on one line of ASCII."""
        return json.dumps(self._document())

    def _document(self) -> dict[str, Any]:
        facts, reading, now = self.facts, self.reading, self.reading.now
        return {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "worker": facts.worker,
            "live": self.condition.live,
            "ready": self.condition.ready,
            "why_not": {question: list(self.against(question)) for question in QUESTIONS},
            "draining": reading.draining,
            "leases_kept": reading.keeping,
            "queues": {queue: {"paused": queue in reading.paused} for queue in facts.queues},
            "slots": {"kind": facts.kind, "total": reading.slots, "in_use": reading.used},
            "held_jobs": reading.held,
            "last_claim_seconds": _since(reading.claimed_at, now),
            "bell_heard": reading.bell,
            "unknown_tasks": reading.unknown,
            "refusals": reading.refused,
            "connections_at_most": facts.connections,
            "loops": {
                name: {
                    "state": said.state,
                    "said_seconds": _since(said.at, now),
                    "restarts": said.restarts,
                    "trouble": said.trouble,
                }
                for name, said in sorted(reading.loops.items())
            },
            "versions": dict(facts.versions),
        }


def line(question: Question, reasons: Iterable[str]) -> str:
    """An answer for people."""
    against = "; ".join(reasons)
    return f"not {question}: {against}" if against else question


def _since(instant: float | None, now: float) -> float | None:
    return None if instant is None else round(max(now - instant, 0.0), 3)
