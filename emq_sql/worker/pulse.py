"""What the threads of a worker say about themselves, for those who ask after its health."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import monotonic
from typing import Literal

LoopName = Literal["main", "keeper", "watch", "upkeep", "bell", "children", "health", "health-file"]
LoopState = Literal["starting", "running", "restarting", "failed", "ended"]

# Seconds that one question to the database may take in all, connecting to several hosts included.
# Its own limits are far shorter; a loop that outlasts this hangs for another reason.
DATABASE_PATIENCE = 300.0

MOST_UNKNOWN = 50  # names of unknown tasks that are remembered; anybody may enqueue any name
OTHERS = "(others)"
USUALLY_REFUSED = ("complete", "extend", "guard")


@dataclass(frozen=True, slots=True)
class Said:
    """What a control loop said last. `due` is when it has promised to be back."""

    at: float
    due: float
    state: LoopState = "starting"
    restarts: int = 0
    trouble: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything that was said, at one instant. All instants are of the monotonic clock."""

    now: float
    loops: dict[LoopName, Said]
    claimed_at: float | None
    busy: bool
    busy_at: float | None
    draining: bool
    keeping: bool
    bell: bool
    paused: frozenset[str]
    slots: int
    used: int
    held: int
    unknown: dict[str, int]
    refused: dict[str, int]


@dataclass(slots=True)
class _Work:
    slots: int = 0
    used: int = 0
    held: int = 0
    busy: bool = False
    busy_at: float | None = None


class Pulse:
    """Each thread says what it does, and whoever asks gets a `Reading`.

    Thread safety: nothing here locks or waits, so a thread that hangs keeps no other from asking,
    and signal handlers may say `drains`. Each loop's record is replaced by that loop alone.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._loops: dict[LoopName, Said] = {}
        self._claimed_at: float | None = None
        self._work = _Work()
        self._unknown: dict[str, int] = {}
        self._refused: dict[LoopName, dict[str, int]] = {}
        self._draining = False
        self._keeping = True
        self._bell = False
        self._paused: frozenset[str] = frozenset()

    def beat(self, loop: LoopName, within: float = 0.0, trouble: object = None) -> None:
        """The loop is alive, and back in `within` seconds; `trouble` is what it waits out."""
        now = self._clock()
        self._loops[loop] = replace(
            self._of(loop, now),
            at=now,
            due=now + within,
            state="running",
            trouble=None if trouble is None else str(trouble),
        )

    @contextmanager
    def asking(self, loop: LoopName) -> Iterator[None]:
        """The loop asks the database, which may take a while and is no fault of the loop.

        What it has promised before still holds after the answer.
        """
        now = self._clock()
        promised = self._of(loop, now).due
        self._moves(loop, now, now + DATABASE_PATIENCE)
        try:
            yield
        finally:
            now = self._clock()
            self._moves(loop, now, max(promised, now))

    def restarts(self, loop: LoopName, within: float, trouble: object) -> None:
        """The loop raised, and is started again in so many seconds."""
        now = self._clock()
        again = self._of(loop, now).restarts + 1
        self._loops[loop] = Said(now, now + within, "restarting", again, str(trouble))

    def ends(self, loop: LoopName, *, failed: bool = False) -> None:
        """The loop has ended: as it was told to, or because it could not be kept alive."""
        now = self._clock()
        state: LoopState = "failed" if failed else "ended"
        self._loops[loop] = replace(self._of(loop, now), at=now, state=state)

    def claims(self) -> None:
        """A claim was answered, whether there were jobs or not."""
        self._claimed_at = self._clock()

    def works(self, slots: int, used: int, held: int, *, closed: bool = False) -> None:
        """So many of the slots run a handler, and so many jobs are held; `closed` when none of the
        other slots may run one now.
        """
        was = self._work
        # A slot that a hung handler keeps, or whose process is gone, is no work.
        busy = (used >= slots or closed) and held > 0
        busy_at = self._clock() if busy or was.busy else was.busy_at
        self._work = _Work(slots, used, held, busy, busy_at)

    def knows_not(self, task: str) -> None:
        """A job came whose task this worker does not know; from one thread at a time."""
        known = self._unknown
        if task not in known and len(known) >= MOST_UNKNOWN:
            task = OTHERS
        self._unknown = {**known, task: known.get(task, 0) + 1}

    def refuses(self, loop: LoopName, verb: str, n: int = 1) -> None:
        """The database has refused such a call as stale; `loop` is whose thread says so."""
        known = self._refused.get(loop, {})
        self._refused[loop] = {**known, verb: known.get(verb, 0) + n}

    def drains(self) -> None:
        """Nothing more is claimed from here on."""
        self._draining = True

    def keeps(self, *, leases: bool) -> None:
        """Whether leases are extended in time."""
        self._keeping = leases

    def hears(self, *, bell: bool) -> None:
        """Whether the bell is listened for; if not, jobs are found by polling."""
        self._bell = bell

    def pauses(self, queues: Iterable[str]) -> None:
        """These of the worker's queues are paused."""
        self._paused = frozenset(queues)

    def reading(self) -> Reading:
        """What has been said until now."""
        work = self._work
        return Reading(
            now=self._clock(),
            loops=dict(self._loops),
            claimed_at=self._claimed_at,
            busy=work.busy,
            busy_at=work.busy_at,
            draining=self._draining,
            keeping=self._keeping,
            bell=self._bell,
            paused=self._paused,
            slots=work.slots,
            used=work.used,
            held=work.held,
            unknown=dict(self._unknown),
            refused=_sums(self._refused),
        )

    def _moves(self, loop: LoopName, now: float, due: float) -> None:
        self._loops[loop] = replace(self._of(loop, now), at=now, due=due, state="running")

    def _of(self, loop: LoopName, now: float) -> Said:
        return self._loops.get(loop) or Said(now, now)


def _sums(counts: dict[LoopName, dict[str, int]]) -> dict[str, int]:
    sums = dict.fromkeys(USUALLY_REFUSED, 0)
    for of_loop in list(counts.values()):
        for verb, n in of_loop.items():
            sums[verb] = sums.get(verb, 0) + n
    return sums
