"""One run of the demo, from an empty database to the account."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg

from emq_sql.demo import account, tree
from emq_sql.demo.application import LEASE, MAX_STALLED, QUEUE, Application, application
from emq_sql.demo.crew import Crew
from emq_sql.demo.faults import Faults
from emq_sql.demo.interruptions import interruptible
from emq_sql.demo.place import Place, place
from emq_sql.demo.producing import Producer
from emq_sql.demo.scene import Happened, Scene
from emq_sql.demo.screen import Screen

_LOOK_EVERY = 0.1
_STATEMENT_TIMEOUT = "20s"


class WorkersFailed(Exception):
    """Workers ended that nobody had asked to end."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the person asked for; `data` is where a database that is kept has its data."""

    root: Path
    dsn: str | None = None
    workers: int = 2
    concurrency: int = 4
    limit: int | None = None
    seed: int = 1
    deadline: float = 120.0
    keep: bool = False
    data: Path | None = None
    reset: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """What stays after the run, and a job that is worth a look."""

    place: Place
    job: UUID | None


@dataclass(slots=True)
class Run:
    """What is known of a run, also when it ends early."""

    options: Options
    screen: Screen
    happened: Happened = field(default_factory=Happened)
    stage: str = "looking for files"
    last_words: str = ""
    kept: Kept | None = None

    def to_the_end(self) -> account.Account:
        """Do it all; whatever was started is ended, and what is temporary is gone.

        Raises Interrupted (the deadline, a signal), WorkersFailed, or an EmqError.
        """
        began, options = time.monotonic(), self.options
        rng = random.Random(options.seed)  # noqa: S311  so that a run can be repeated
        with interruptible(options.deadline), self.screen:
            files = tree.files_below(options.root, options.limit, rng)
            self.screen.say(f"{len(files):,} files below {options.root}")
            self.stage = "starting PostgreSQL and making the schemas"
            with place(
                options.dsn, keep=options.keep, data=options.data, reset=options.reset
            ) as where:
                self.screen.say(where.about)
                with _application(where) as (app, conn):
                    self._work(where, app, conn, files, rng)
                    self.stage = "reading the account"
                    read = account.figures(conn, where.schemas)
                    if options.keep:
                        self.kept = Kept(where, account.much_travelled(conn, where.schemas))
        return account.account(len(files), read, self.happened, time.monotonic() - began)

    def _work(
        self, where: Place, app: Application, conn: psycopg.Connection[Any],
        files: list[tree.Found], rng: random.Random,
    ) -> None:  # fmt: skip
        with self._crew(where) as crew:
            scene = Scene(conn, where.schemas, crew)
            faults = Faults(scene, crew, self.happened, self.screen.say, self._set_stage, rng)
            producer, play, played = Producer(app, where.schemas, files), faults.play(), False
            while True:
                if fallen := crew.fallen():
                    raise WorkersFailed(", ".join(map(str, fallen)))
                now = scene.progress()
                while producer.add(now.waiting, now.in_flight, faults_to_come=not played):
                    now = scene.progress()
                played = played or next(play, True) is True
                if played:
                    self.stage = "waiting for the last jobs"
                self.screen.show(len(files), now, scene.in_flight())
                if played and producer.done and not now.waiting and not now.in_flight:
                    return
                time.sleep(_LOOK_EVERY)

    def _set_stage(self, stage: str) -> None:
        self.stage = stage

    @contextmanager
    def _crew(self, where: Place) -> Iterator[Crew]:
        options = self.options
        crew = Crew(where.dsn, where.schemas, options.concurrency)
        try:
            for number in range(1, options.workers + 1):
                crew.start(number)
            self.screen.say(
                f"{options.workers} worker processes with {options.concurrency} threads each,"
                f" leases of {LEASE.total_seconds():g} s"
            )
            yield crew
        except BaseException:
            self.last_words = crew.last_words()
            raise
        finally:
            crew.end()


@contextmanager
def _application(where: Place) -> Iterator[tuple[Application, psycopg.Connection[Any]]]:
    app = application(where.dsn, where.schemas)
    try:
        app.emq.configure(QUEUE, max_stalled=MAX_STALLED)
        with app.emq.connect() as conn:
            conn.execute("select set_config('statement_timeout', %s, false)", [_STATEMENT_TIMEOUT])
            yield app, conn
    finally:
        app.emq.engine.dispose()
