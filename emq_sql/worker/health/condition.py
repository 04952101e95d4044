"""Is this worker alive, and does it claim? Decided from what its threads said."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from emq_sql.worker.pulse import Reading, Said

LIVE_WITHIN = timedelta(seconds=30)  # after the instant at which a loop has promised to be back
READY_WITHIN = timedelta(seconds=10)  # beside three times what is usual between two claims


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


def condition(
    reading: Reading, queues: Collection[str], poll: timedelta,
    live_within: timedelta = LIVE_WITHIN,
) -> Condition:  # fmt: skip
    """The condition of a worker that claims from these queues about once in `poll`."""
    not_alive = [
        f"the loop {name} {why}"
        for name, said in sorted(reading.loops.items())
        if (why := _fault(said, reading.now, live_within.total_seconds())) is not None
    ]
    return Condition(tuple(not_alive), tuple(_idle(reading, queues, poll)))


def _fault(said: Said, now: float, within: float) -> str | None:
    if said.state == "failed":
        return "could not be kept alive"
    if said.state != "ended" and now > said.due + within:
        return f"has said nothing for {now - said.at:.0f} s"
    return None


def _idle(reading: Reading, queues: Collection[str], poll: timedelta) -> list[str]:
    if reading.draining:
        return ["it drains: nothing more is claimed"]
    if not reading.keeping:
        return ["leases are not kept, so nothing is claimed"]
    if reading.busy or reading.paused.issuperset(queues):
        return []
    last = max(reading.claimed_at or 0.0, reading.busy_at or 0.0)
    if not last:
        return ["nothing was claimed yet"]
    if (since := reading.now - last) > (3 * poll + READY_WITHIN).total_seconds():
        return [f"the last claim that was answered is {since:.0f} s ago"]
    return []
