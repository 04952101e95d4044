"""The workers of a run: real `emq worker` commands, watched through the tallies they write."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from bench.compare.catalogue import Failed
from bench.compare.contract import tally
from bench.compare.processes import Guarded
from bench.suite import jobs
from bench.suite.stage import Base, Stage

ROOT = Path(__file__).resolve().parents[2]
_LOOK = 0.002  # seconds between looks at a tally; reading one costs the worker nothing
_WARM = 20  # jobs at a time, until each worker has had one
_KEPT = ("PATH", "HOME", "LANG")


class Crew:
    """`workers` processes that have each run a job, on their way to wait for the next.

    `room` is how many jobs they may be given; job numbers begin at `first`, after those that made
    them warm. Through a pooler `dsn` is the pooler's. With `bell=False` nothing is listened for.
    """

    def __init__(
        self, stage: Stage, base: Base, options: tuple[str, ...], room: int, *, workers: int = 1,
        queues: tuple[str, ...] = ("default",), dsn: str | None = None, bell: bool = True,
    ) -> None:  # fmt: skip
        self._stage = stage
        self._base = base
        folder = stage.new_folder()
        app = "emq" if bell else "silent"
        command = [
            sys.executable, "-m", "emq_sql", "worker", "--app", f"bench.suite.jobs:{app}",
            "--log-level", "warning", "--queues", ",".join(queues), *options,
        ]  # fmt: skip
        variables = {name: os.environ[name] for name in _KEPT if name in os.environ}
        variables |= {"PYTHONPATH": str(ROOT), "EMQ_DSN": dsn or base.dsn}
        variables |= {"EMQ_LISTEN_DSN": base.dsn}
        paths = [folder / f"tally-{number}" for number in range(workers)]
        most_warm = 50 * _WARM
        self._words = [tally.made(path, most_warm + room) for path in paths]
        self._workers: list[Guarded] = []
        try:
            for number, path in enumerate(paths):
                own = variables | {"BENCH_TALLY": str(path)}
                log = folder / f"worker-{number}.log"
                self._workers.append(Guarded(command, own, folder, log, stage.left() + 30))
            self.first = self._warm(queues[0], most_warm)
        except BaseException:
            self.stop()
            raise

    def _warm(self, queue: str, most: int) -> int:
        present = "select count(*) from emq.worker"
        self.until(lambda: self._base.one(present) >= len(self._words), "not all started", 0.02)
        added = 0
        with self._base.connect() as conn:
            while not all(words[tally.RAN] for words in self._words) and added < most:
                jobs.fill(conn, _WARM, first=added, queue=queue)
                conn.execute("select emq.ring_parked(%s::text[])", [[queue]])
                added += _WARM
                self.until(partial(self._has_run, added), "not warm")
            if not all(words[tally.RAN] for words in self._words):
                raise Failed("one worker took all jobs that were to make each of them warm")
            self.until(lambda: self._base.one("select count(*) from emq.active") == 0, "not warm")
        return added

    def _has_run(self, jobs: int) -> bool:
        return self.ran() >= jobs

    def ran(self) -> int:
        return sum(words[tally.RAN] for words in self._words)

    def done(self) -> int:
        """How many jobs after the warm ones have begun."""
        return self.ran() - self.first

    def starts(self) -> dict[int, float]:
        """The instant, of time.monotonic(), at which each job that ran began; warm ones left out.

        Raises Failed when one has run twice.
        """
        found: dict[int, float] = {}
        for words in self._words:
            for n, at in enumerate(words[tally.HEAD + self.first :].tolist(), self.first):
                if at:
                    found[n] = at / 1e9
        if len(found) != self.done():
            raise Failed(f"{len(found)} jobs ran, {self.done()} times")
        return found

    def cpu(self) -> float:
        """Seconds of CPU of all workers."""
        return sum(worker.cpu() for worker in self._workers)

    def until(self, done: Callable[[], bool], what: str, look: float = _LOOK) -> None:
        """Wait for it, as long as the workers live and the cell has time."""
        checked = time.monotonic()
        while not done():
            now = time.monotonic()
            if now > self._stage.deadline:
                raise Failed(f"{what}: {self.ran()} jobs ran in time")
            if now > checked + 0.25:
                checked = now
                for worker in self._workers:
                    worker.check()
            time.sleep(look)

    def stop(self) -> None:
        """Ask all to end; raises Failed when one had to be killed."""
        stopped = [worker.stop() for worker in self._workers]
        if not all(stopped):
            raise Failed("a worker did not end when it was asked to")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        for worker in self._workers:
            worker.stop()
