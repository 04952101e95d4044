"""Which queues a worker waits for at the bell: those that it found empty while it had room."""

from __future__ import annotations

from collections.abc import Callable, Iterable

LAZY = 1.0  # seconds of work in a row after which a queue is waited for no more

_NEVER = float("inf")


class Parking:
    """Calls `park(queues)` with all that are waited for now, when they have changed.

    Parking costs a statement, so it follows slowly: a queue is parked for at once when a claim came
    back short, and no more when its claims have come back full, or no slot was free, for LAZY
    seconds. A worker that is busy all the time, or idle all the time, sends nothing. All instants
    are given, of one clock.
    """

    def __init__(self, park: Callable[[frozenset[str]], None]) -> None:
        self._park = park
        self._parked: dict[str, float] = {}  # since when its claims have come back full
        self._no_room = _NEVER  # since when

    def drained(self, queues: Iterable[str]) -> None:
        """Claims from these queues have just come back short."""
        before = self._parked.keys()
        self._parked = {**self._parked, **dict.fromkeys(queues, _NEVER)}
        if self._parked.keys() != before:
            self._tell()

    def filled(self, queue: str, now: float) -> None:
        """A claim from this queue has come back full."""
        if queue in self._parked:
            self._parked[queue] = min(self._parked[queue], now)

    def look(self, now: float, *, room: bool) -> None:
        """Whether a slot is free now; what was waited for long enough in vain is given up."""
        self._no_room = _NEVER if room else min(self._no_room, now)
        stay = {
            queue: since
            for queue, since in self._parked.items()
            if min(since, self._no_room) + LAZY > now
        }
        if stay.keys() != self._parked.keys():
            self._parked = stay
            self._tell()

    @property
    def due(self) -> float:
        """When to look again, at the latest."""
        if not self._parked:
            return _NEVER
        return min(self._no_room, *self._parked.values()) + LAZY

    def _tell(self) -> None:
        self._park(frozenset(self._parked))
