"""Jobs that are claimed ahead: how many there may be, and when they go back to the line."""

from __future__ import annotations

from time import monotonic, sleep

from emq_sql.worker.buffer import Buffer
from emq_sql.worker.entry import Entry

STUCK = 2.0  # seconds that jobs wait behind busy slots before other workers may have them
GATHERS = 0.005  # seconds for endings to come together while no slot waits for a claim

_NEVER = float("inf")


class Ahead:
    """Belongs to the main loop.

    When none of the waiting jobs was begun for a while, the slots hold long ones: what waits goes
    back, and nothing is claimed ahead before one of them has ended.
    """

    def __init__(self, buffer: Buffer, prefetch: int) -> None:
        self._buffer = buffer
        self._prefetch = prefetch
        self._stuck = False
        self._gathers_until = 0.0

    def room(self, held: int) -> int:
        """How many jobs may wait here, beside those in slots, when so many are held: none while no
        slot has anything to do or could have, since its process has yet to start.
        """
        buffer = self._buffer
        works = held > buffer.waiting or buffer.running < buffer.slots
        return self._prefetch if works and not self._stuck else 0

    def ended(self) -> None:
        """A run has ended by itself."""
        self._stuck = False

    def give_back(self, now: float, *, closed: bool) -> list[Entry]:
        """Those that wait no longer: all when it is `closed` for them, or they have waited in vain
        for too long.
        """
        since = self._buffer.stuck_since
        if since is None:
            return []
        self._stuck = self._stuck or now >= since + STUCK
        return self._buffer.take_waiting() if closed or self._stuck else []

    def next_due(self) -> float:
        """The monotonic instant at which to look again for what waits in vain."""
        since = self._buffer.stuck_since
        return _NEVER if since is None else since + STUCK

    def gather(self) -> None:
        """Let more runs end before the database is told, if none of the slots can want for a job
        meanwhile: one commit for all of them.
        """
        if self._buffer.waiting and (left := self._gathers_until - monotonic()) > 0:
            sleep(left)

    def told(self) -> None:
        """The database was told of some."""
        self._gathers_until = monotonic() + GATHERS
