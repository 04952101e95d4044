"""Which queues are asked next, and in which order."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import timedelta

SHORTEST = 0.05  # seconds to the first look after a job, when nobody rings
EARLY = 0.25  # of a poll, by which a queue may be asked early, to go with another one


class Turns:
    """Those that gave jobs go behind the others, so that a full queue starves none.

    A queue that was found empty is left alone for `poll` when the bell is heard; else it is looked
    at soon after its last job, and then less and less often, up to `poll`. Never longer: a lost
    notification costs one poll at most. All instants are given, of one clock.
    """

    def __init__(self, queues: Sequence[str], poll: timedelta) -> None:
        self._poll = poll.total_seconds()
        self._rng = random.Random()  # noqa: S311 - so that workers do not ask in step
        self._order = list(queues)
        self._due = dict.fromkeys(queues, 0.0)
        self._in_vain = dict.fromkeys(queues, 0)
        self._not_before: dict[str, float] = {}
        self._empty: set[str] = set()

    def rung(self, queue: str | None) -> None:
        """Somebody says that there are jobs in this queue (None: perhaps in any)."""
        for name in self._due if queue is None else self._due.keys() & {queue}:
            self._due[name] = 0.0
            self._empty.discard(name)

    def hold_back(self, paused: Mapping[str, float]) -> None:
        """These were paused when it was asked at these instants: no claim for a poll from there."""
        self._not_before = {queue: at + self._poll for queue, at in paused.items()}

    def due(self, now: float) -> tuple[str, ...]:
        """The queues to ask now with one statement, in this order; none when none is due."""
        if all(max(due, self._not_before.get(q, 0.0)) > now for q, due in self._due.items()):
            return ()
        until = now + EARLY * self._poll
        return tuple(queue for queue in self._open(now) if self._due[queue] <= until)

    def along(self, now: float) -> tuple[str, ...]:
        """The one queue to ask with a completion, for which each is worth a question."""
        queues = self._open(now)
        chosen = [queue for queue in queues if self._due[queue] <= now][:1] or queues[:1]
        self._go_behind(chosen)
        return tuple(chosen)

    def answered(
        self, queues: Sequence[str], n: int, gave: Mapping[str, int], now: float, *, heard: bool
    ) -> tuple[Sequence[str], str | None]:
        """These were asked for n jobs in all and gave so many: those that had no more, and the one
        that may have more. Those behind it were not asked at all.
        """
        served = [queue for queue in queues if gave.get(queue)]
        full = served[-1] if sum(gave.values()) >= n and served else None
        drained = queues if full is None else queues[: queues.index(full)]
        jitter = self._rng.uniform(0.9, 1.0)
        for queue in drained:
            vain = self._in_vain[queue] = 0 if gave.get(queue) else self._in_vain[queue] + 1
            pause = self._poll if heard else min(self._poll, SHORTEST * 2.0 ** min(vain, 20))
            self._due[queue] = now + pause * jitter
            if not gave.get(queue):
                self._empty.add(queue)
        if full is not None:
            self._due[full] = 0.0
            self._in_vain[full] = 0
        self._empty.difference_update(served)
        self._go_behind(served)
        return drained, full

    @property
    def next_due(self) -> float:
        """The instant of the next question."""
        return min(max(due, self._not_before.get(q, due)) for q, due in self._due.items())

    @property
    def all_empty(self) -> bool:
        """Whether each queue had nothing when it was last asked."""
        return len(self._empty) == len(self._due)

    def _open(self, now: float) -> list[str]:
        return [queue for queue in self._order if self._not_before.get(queue, now) <= now]

    def _go_behind(self, queues: Sequence[str]) -> None:
        self._order = [queue for queue in self._order if queue not in queues] + list(queues)
