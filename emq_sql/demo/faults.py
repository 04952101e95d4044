"""The faults of a run: two workers killed in mid-work, one frozen past its leases.

Each is a generator that looks once, acts if it can, and yields: the run goes on meanwhile.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass

from emq_sql.demo.application import LEASE
from emq_sql.demo.crew import Crew, Member
from emq_sql.demo.scene import Death, Fate, Flight, Freeze, Happened, Scene

KILLS = 2
SLOW = "measure_slowly"
# A job that was claimed this long ago at most has most of its work before it.
_FRESH = 0.5
# After this many seconds past its lease a job that nobody took is held by an open
# transaction of the frozen worker, which will commit or roll back when it thaws.
_STUCK = -2 * LEASE.total_seconds()
_PATIENCE = 10.0


@dataclass(frozen=True, slots=True)
class Faults:
    """Who does it, to whom, and where it is written down."""

    scene: Scene
    crew: Crew
    happened: Happened
    say: Callable[[str], None]
    stage: Callable[[str], None]
    rng: random.Random

    def play(self) -> Iterator[None]:
        """All of them, one after the other."""
        for _ in range(KILLS):
            yield from self._kill()
        yield from self._freeze()

    def _kill(self) -> Iterator[None]:
        self.stage("waiting for a worker that holds jobs, to kill it")
        while True:
            victim = self._busiest(self.scene.in_flight())
            if victim is not None:
                at = self.scene.clock()
                self.crew.kill(victim)
                held = self.scene.held_by(victim)
                self.crew.start(victim.number)
                if held:
                    break
                self.say(f"kill -9 of {victim}: it had just finished all its jobs, once more")
            yield
        self.say(f"kill -9 of {victim} with {_jobs(held)} in hand, and another one in its place")
        self.stage(f"waiting until the {_jobs(held)} of {victim} are in other hands")
        fates = yield from self._fates_until(held, _is_recovered)
        last = max(fate.recovered_at for fate in fates if fate.recovered_at is not None)
        death = Death(str(victim), len(held), (last - at).total_seconds())
        self.happened.deaths.append(death)
        self.say(f"all {_jobs(held)} of {victim} recovered {death.seconds:.1f} s after its death")

    def _freeze(self) -> Iterator[None]:
        while True:
            victim, held = yield from self._frozen_in_mid_work()
            self.say(f"SIGSTOP for {victim} with {_jobs(held)} in hand: alive, and silent")
            self.stage(f"waiting until the {_jobs(held)} of the frozen {victim} are done by others")
            fates = yield from self._fates_until(held, _is_over)
            self.crew.thaw(victim)
            taken = {fate.id for fate in fates if fate.finished_by == "another"}
            if taken:
                break
            self.say(f"{victim} had finished its jobs before it froze, once more")
        self.say(f"SIGCONT for {victim}: others have finished {len(taken)} of them, it goes on")
        self.stage(f"waiting until {victim} has tried to complete a job that it lost")
        lost = [flight for flight in held if flight.id in taken]
        patience = time.monotonic() + _PATIENCE
        while not (refused := self.scene.refused(lost)) and time.monotonic() < patience:
            yield
        self.happened.freezes.append(Freeze(str(victim), len(held)))
        if refused:
            self.say(f"{victim} tried to finish late, was refused, and rolled its work back")

    def _fates_until(
        self, held: list[Flight], true: Callable[[Fate], bool]
    ) -> Generator[None, None, list[Fate]]:
        fates = self.scene.fates(held)
        while not all(map(true, fates)):
            yield
            fates = self.scene.fates(held)
        return fates

    def _frozen_in_mid_work(self) -> Generator[None, None, tuple[Member, list[Flight]]]:
        self.stage("waiting for a worker that has just begun a slow job, to freeze it")
        while True:
            for flight in self.scene.in_flight():
                fresh = flight.task == SLOW and flight.running < _FRESH
                if flight.member is not None and flight.alive and fresh:
                    self.crew.freeze(flight.member)
                    return flight.member, self.scene.held_by(flight.member)
            yield

    def _busiest(self, flights: list[Flight]) -> Member | None:
        jobs = Counter(flight.member for flight in flights if flight.alive)
        most = max(jobs.values(), default=0)
        return self.rng.choice([who for who, count in jobs.items() if count == most] or [None])


def _is_recovered(fate: Fate) -> bool:
    return fate.recovered_at is not None


def _is_over(fate: Fate) -> bool:
    stuck = fate.seconds_left is not None and fate.seconds_left < _STUCK
    return fate.finished_by is not None or stuck


def _jobs(held: list[Flight]) -> str:
    return "1 job" if len(held) == 1 else f"{len(held)} jobs"
