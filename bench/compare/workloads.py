"""The workloads: each measures one peer once, and says figures or raises Failed.

Nothing is a rate that was not checked: every job must have run, by the tally of the workers, and
nothing may be left in the peer's own tables.
"""

from __future__ import annotations

import contextlib
import math
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from bench.compare.catalogue import Failed
from bench.compare.contract import tally
from bench.compare.processes import Given, Guarded, Producer, worker
from bench.compare.servers import Place, Postgres, Reading

Figures = dict[str, Any]
BATCH = 1000  # jobs of one bulk call
WARM = 20  # jobs that show that an idle worker is ready
_LOOK = 0.002  # seconds between looks at a tally; reading one costs the worker nothing


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much of each workload; tests and hurried people make it small."""

    scale: float = 1.0  # of the jobs of a drain
    enqueue_seconds: float = 4.0
    single_limit: int = 20_000
    bulk_limit: int = 100_000
    latency_jobs: int = 150
    latency_gap: tuple[float, float] = (0.03, 0.07)
    pinned_seconds: float = 60.0
    pinned_window: float = 10.0
    cell_seconds: float = 150.0  # a cell that takes longer has failed


class Crew:
    """The workers of a cell and their tallies."""

    def __init__(self, given: Given, workers: int, jobs: int, *, gated: bool = False) -> None:
        self._gate = given.folder / "gate" if gated else None
        self._given = given
        self._jobs = jobs
        paths = [given.folder / f"tally-{number}" for number in range(workers)]
        self._words = [tally.made(path, jobs) for path in paths]
        self._workers: list[Guarded] = []
        try:
            for number, path in enumerate(paths):
                self._workers.append(worker(given, number, path, self._gate))
        except BaseException:
            self.stop()
            raise

    def ran(self) -> int:
        return sum(words[tally.RAN] for words in self._words)

    def all_arrived(self) -> bool:
        """Whether each worker has a first job, which waits at the gate."""
        return all(words[tally.ARRIVED] for words in self._words)

    def open_gate(self) -> None:
        assert self._gate is not None
        self._gate.touch()

    def warmed(self, jobs: int) -> tuple[float, int, float]:
        """Wait for the first tenth; the instant, how many ran, and the CPU used so far.

        What was claimed before the gate opened is in that tenth. Where all is over too soon, as
        in tiny runs, the opening of the gate is told.
        """
        at_gate = time.monotonic(), 0, self.cpu()
        self.until(lambda: self.ran() >= jobs / 10, "hardly begun")
        now = time.monotonic(), self.ran(), self.cpu()
        return now if now[1] <= jobs / 2 else at_gate

    def again(self) -> int:
        """Runs beyond the first of each job."""
        return self.ran() - self.distinct()

    def distinct(self) -> int:
        """How many different jobs ran."""
        return len(self.starts())

    def starts(self) -> dict[int, int]:
        """The instant at which each job that ran began."""
        found: dict[int, int] = {}
        for words in self._words:
            for n, at in enumerate(words[tally.HEAD :].tolist()):
                if at:
                    found[n] = min(at, found.get(n, at))
        return found

    def cpu(self) -> float:
        return sum(one.cpu() for one in self._workers)

    def until(self, done: Callable[[], bool], what: str, seconds: float = math.inf) -> None:
        """Wait for it, as long as the workers live and there is time."""
        checked = time.monotonic()
        deadline = min(self._given.deadline, checked + seconds)
        while not done():
            now = time.monotonic()
            if now > deadline:
                raise Failed(f"{what}: {self.ran()} of {self._jobs} jobs ran in time")
            if now > checked + 0.25:
                checked = now
                for one in self._workers:
                    one.check()
            time.sleep(_LOOK)

    def stop(self) -> bool:
        """Whether all ended when they were asked to."""
        stopped = [one.stop() for one in self._workers]
        return all(stopped)


@contextmanager
def crew_of(given: Given, workers: int, jobs: int, *, gated: bool = False) -> Iterator[Crew]:
    crew = Crew(given, workers, jobs, gated=gated)
    try:
        yield crew
    finally:
        crew.stop()


def drain(given: Given, place: Place, sizes: Sizes, workers: int) -> Figures:
    """A backlog, and so many worker processes that run it; the costs of the whole life of a job."""
    jobs = max(40, round(given.peer.drain * sizes.scale))
    with Producer(given) as producer:
        producer.ask("install")
        place.settle()
        before = place.read(given.dsn)
        put = producer.ask("bulk", first=0, limit=jobs, seconds=given.left(), batch=BATCH)
        _expect(producer, left=jobs)
        time.sleep(0.2)  # the statistics of a connection that ended arrive a little later
        filled = place.read(given.dsn)
        with crew_of(given, workers, jobs, gated=True) as crew:
            crew.until(crew.all_arrived, "not every worker got a job", 30)
            crew.open_gate()
            began, first, cpu = crew.warmed(jobs)
            crew.until(lambda: crew.ran() >= jobs, "not drained")
            polls = _until_over(producer, given, jobs)
            took, cpu = time.monotonic() - began, crew.cpu() - cpu
            obeyed = crew.stop()
            time.sleep(0.2)
            end = place.read(given.dsn)
            distinct, again = crew.distinct(), crew.again()
        kept = _expect(producer, left=0)
        time.sleep(0.2)
        one_poll = _commits(end, place.read(given.dsn))
    if distinct != jobs or again or (kept["done"] is not None and kept["done"] < jobs):
        raise Failed(f"{jobs} jobs: {distinct} ran, {again} ran again, {kept['done']} are recorded")
    commits = _commits(filled, end)
    return {
        "jobs": jobs,
        "per_second": round((jobs - first) / took, 1),
        "from_job": first,
        "seconds": round(took, 3),
        "bulk_per_second": round(put["count"] / put["took"], 1),
        "worker_cpu_ms": round(cpu * 1000 / (jobs - first), 4),
        "server_cpu_us": round((end.cpu - filled.cpu) * 1e6 / jobs, 1),
        "server_cpu_us_enqueue": round((filled.cpu - before.cpu) * 1e6 / jobs, 1),
        "wal_bytes": _wal(before, end, jobs),
        "commits": None
        if commits is None or one_poll is None
        else round((commits - polls * one_poll) / jobs, 4),
        "stopped_when_asked": obeyed,
    }


def enqueue(given: Given, place: Place, sizes: Sizes) -> Figures:
    """One producer: jobs one by one, a transaction each, and then by the peer's bulk call."""
    figures: Figures = {}
    added = 0
    with Producer(given) as producer:
        producer.ask("install")
        for how, limit in (("single", sizes.single_limit), ("bulk", sizes.bulk_limit)):
            place.settle()
            before = place.read(given.dsn)
            put = producer.ask(
                how, first=added, limit=limit, seconds=sizes.enqueue_seconds, batch=BATCH
            )
            after = place.read(given.dsn)
            added += put["count"]
            _expect(producer, left=added)
            figures |= {
                f"{how}_per_second": round(put["count"] / put["took"], 1),
                f"{how}_jobs": put["count"],
                f"{how}_server_cpu_us": round((after.cpu - before.cpu) * 1e6 / put["count"], 1),
            }
    return figures


def latency(given: Given, place: Place, sizes: Sizes) -> Figures:
    """From the call that enqueues a job to its handler, in an idle worker; milliseconds."""
    del place
    count = sizes.latency_jobs
    with Producer(given) as producer:
        producer.ask("install")
        with crew_of(given, 1, WARM + count) as crew:
            _warm(producer, crew)
            put = producer.ask(
                "paced", first=WARM, count=count, gap=sizes.latency_gap, seed=random.getrandbits(32)
            )
            crew.until(lambda: crew.ran() >= WARM + count, "not all were picked up")
            starts, again = crew.starts(), crew.again()
    if again or len(starts) != WARM + count:
        raise Failed(f"{WARM + count} jobs: {len(starts)} ran, {again} ran again")
    began = [starts[WARM + k] for k in range(count)]
    return {
        "jobs": count,
        "from_call_ms": _milliseconds(began, put["sent"]),
        "from_commit_ms": _milliseconds(began, put["committed"]),
    }


def pinned(given: Given, place: Place, sizes: Sizes) -> Figures:
    """Jobs go round while an old snapshot is open: the last seconds beside the first."""
    if not isinstance(place, Postgres):
        raise Failed("it has no snapshots")
    depth = max(100, given.peer.drain // 20)
    batch = depth // 2
    room = 2_000_000
    with Producer(given) as producer:
        producer.ask("install")
        with crew_of(given, 1, room) as crew:
            _warm(producer, crew)
            producer.ask("open")
            with place.pinned(given.dsn):
                fed, samples = _feed(producer, crew, sizes.pinned_seconds, depth, batch, room)
            producer.ask("close")
            crew.until(lambda: crew.ran() >= fed, "not drained")
            _until_over(producer, given, fed)
            distinct, again = crew.distinct(), crew.again()
    if distinct != fed or again:
        raise Failed(f"{fed} jobs: {distinct} ran, {again} ran again")
    first, last = _ends(samples, sizes.pinned_window)
    return {
        "jobs": fed,
        "seconds": sizes.pinned_seconds,
        "first_per_second": round(first, 1),
        "last_per_second": round(last, 1),
        "ratio": round(last / first, 3) if first else None,
        "each_second": _rates(samples),
    }


def _feed(
    producer: Producer, crew: Crew, seconds: float, depth: int, batch: int, room: int
) -> tuple[int, list[tuple[float, int]]]:
    """Keep so many jobs waiting; how many were added, and (instant, ran so far) each second."""
    fed = WARM
    began = time.monotonic()
    samples = [(began, crew.ran())]
    while (now := time.monotonic()) < began + seconds:
        if now >= samples[-1][0] + 1:
            samples.append((now, crew.ran()))
        if fed - crew.ran() < depth and fed + batch <= room:
            producer.ask("push", first=fed, count=batch)
            fed += batch
        else:
            time.sleep(_LOOK)
    samples.append((time.monotonic(), crew.ran()))
    return fed, samples


def _rates(samples: list[tuple[float, int]]) -> list[float]:
    return [round((b[1] - a[1]) / (b[0] - a[0]), 1) for a, b in pairwise(samples) if b[0] > a[0]]


def _ends(samples: list[tuple[float, int]], window: float) -> tuple[float, float]:
    """Jobs a second in the first and in the last `window` seconds."""
    begin, end = samples[0], samples[-1]
    window = min(window, (end[0] - begin[0]) / 2)
    head = min(samples, key=lambda one: abs(one[0] - begin[0] - window))
    tail = min(samples, key=lambda one: abs(end[0] - window - one[0]))
    return (
        (head[1] - begin[1]) / (head[0] - begin[0]),
        (end[1] - tail[1]) / (end[0] - tail[0]),
    )


def _warm(producer: Producer, crew: Crew) -> None:
    """The worker has run some jobs and waits."""
    producer.ask("single", first=0, limit=WARM, seconds=60)
    crew.until(lambda: crew.ran() >= WARM, "the worker did not begin")
    time.sleep(1)


def _expect(producer: Producer, left: int) -> Figures:
    """What the peer's tables say, which must be this."""
    counts = producer.ask("counts")
    if counts["left"] != left:
        raise Failed(f"its tables say that {counts['left']} jobs are left, not {left}")
    return counts


def _until_over(producer: Producer, given: Given, jobs: int) -> int:
    """Wait until the peer's tables say that all are over; how often they were asked."""
    polls = 0
    while True:
        polls += 1
        counts = producer.ask("counts")
        left, done = counts["left"], counts["done"]
        if left == 0 and (done is None or done >= jobs):
            return polls
        if time.monotonic() > given.deadline:
            raise Failed(f"all {jobs} jobs ran; by its tables {left} are left, {done} are done")
        time.sleep(0.02)


def _milliseconds(began: list[int], since: list[int]) -> list[float]:
    return [round((b - s) / 1e6, 3) for b, s in zip(began, since, strict=True)]


def _commits(before: Reading, after: Reading) -> int | None:
    if before.commits is None or after.commits is None:
        return None
    return after.commits - before.commits


def _wal(before: Reading, end: Reading, jobs: int) -> int | None:
    """Of the whole life; no checkpoint falls within it (docs/howto/compare.md says why)."""
    with contextlib.suppress(TypeError):
        return round((end.wal - before.wal) / jobs)  # type: ignore[operator]
    return None
