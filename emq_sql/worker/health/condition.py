"""Is this worker alive, and does it claim? Decided from what its threads said."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from emq_sql.worker.pulse import Reading, Said

LIVE_WITHIN = timedelta(seconds=30)  # after the instant at which a loop has promised to be back
READY_WITHIN = timedelta(seconds=10)  # beside three times what is usual between two claims


@dataclass(frozen=True, slots=True)
class Bounds:
    """How late a control loop may be, and how long ago the last claim that was answered."""

    live: timedelta
    ready: timedelta


@dataclass(frozen=True, slots=True)
class Condition:
    """Why it is not alive, and why it is not ready: nothing, when it is."""

    not_alive: tuple[str, ...]
    not_ready: tuple[str, ...]

    @property
    def live(self) -> bool:
        """Each control loop has come back in time. A restart would help if not.

        Independent of the database, which a restart would not bring back, and of jobs, which may
        take as long as they do. A worker that drains is alive.
        """
        return not self.not_alive

    @property
    def ready(self) -> bool:
        """It claims, or all its slots are taken by jobs whose leases are kept."""
        return not (self.not_alive or self.not_ready)


def condition(reading: Reading, queues: Collection[str], bounds: Bounds) -> Condition:
    """The condition of a worker that claims from these queues."""
    not_alive = [
        f"the loop {name} {why}"
        for name, said in sorted(reading.loops.items())
        if (why := _fault(said, reading.now, bounds.live)) is not None
    ]
    return Condition(tuple(not_alive), tuple(_idle(reading, queues, bounds.ready)))


def _fault(said: Said, now: float, within: timedelta) -> str | None:
    if said.state == "failed":
        return "could not be kept alive"
    if said.state != "ended" and now > said.due + within.total_seconds():
        return f"has said nothing for {now - said.at:.0f} s"
    return None


def _idle(reading: Reading, queues: Collection[str], within: timedelta) -> list[str]:
    if reading.draining:
        return ["it drains: nothing more is claimed"]
    if not reading.keeping:
        return ["leases are not kept, so nothing is claimed"]
    if reading.busy or reading.paused.issuperset(queues):
        return []
    last = max(reading.claimed_at or 0.0, reading.busy_at or 0.0)
    if not last:
        return ["nothing was claimed yet"]
    if (since := reading.now - last) > within.total_seconds():
        return [f"the last claim that was answered is {since:.0f} s ago"]
    return []
