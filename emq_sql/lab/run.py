"""One run of the lab, from an empty schema to the grid."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg

from emq_sql.lab.crew import Crew, Member, WorkersFailed
from emq_sql.lab.grid import CELLS, Cell
from emq_sql.lab.place import Place, place
from emq_sql.lab.results import Result, judged
from emq_sql.lab.statements import about
from emq_sql.lab.styles import LEASE, application

_AT_ONCE = 6  # workers that start at the same time
_LOOK_EVERY = 0.02
_STATEMENT_TIMEOUT = "20s"

_Jobs = Sequence[tuple[Cell, UUID]]


@dataclass(slots=True)
class Lab:
    """What is known of a run, also when it ends early. `say` is told what happens."""

    dsn: str | None = None
    cells: Sequence[Cell] = CELLS
    say: Callable[[str], None] = lambda _text: None
    stage: str = "starting PostgreSQL and making the schema"
    last_words: str = ""
    _began: float = field(default_factory=time.monotonic)

    def to_the_end(self) -> list[Result]:
        """Kill, freeze, have the others go on, and read what came of it, cell by cell.

        Whatever was started is ended, and the schema is gone, also when it is broken off by an
        exception of the caller's. Raises WorkersFailed, or an EmqError.
        """
        with place(self.dsn, self._say) as where:
            self._say(where.about)
            app = application(where.dsn, where.schema)
            try:
                jobs = [(cell, _enqueued(app, cell)) for cell in self.cells]
                with app.connect() as conn:
                    conn.execute(
                        "select set_config('statement_timeout', %s, false)", [_STATEMENT_TIMEOUT]
                    )
                    self._work(where, conn, jobs)
                    self.stage = "reading the grid"
                    return _read(conn, where.schema, jobs)
            finally:
                app.engine.dispose()

    def _work(self, where: Place, conn: psycopg.Connection[Any], jobs: _Jobs) -> None:
        with self._crew(where) as crew:
            self.stage = "waiting for the first workers to be killed or frozen"
            frozen = self._cut_off(crew)
            self._say(
                f"kill -9 of {len(self.cells) - len(frozen)} workers, each at its point;"
                f" SIGSTOP of {len(frozen)} in their work"
            )
            self.stage = "waiting for the second worker to finish what was taken back"
            second = crew.second(self.cells)
            self._until(conn, crew, where.schema, jobs, "settled", [second])
            self._say(f"every job is settled, and the leases of {LEASE.total_seconds():g} s over")
            for member in frozen.values():
                crew.wake(member)
            self.stage = "waiting for the woken workers to end their runs"
            woken = [(cell, job) for cell, job in jobs if cell in frozen]
            everybody = [second, *frozen.values()]
            self._until(conn, crew, where.schema, woken, "ended", everybody)
            self._say(f"SIGCONT for the {len(frozen)} frozen ones: each has ended its run")
            self.stage = "ending the workers"

    def _cut_off(self, crew: Crew) -> dict[Cell, Member]:
        """Run the first worker of each cell to its point; those that are frozen then."""
        waiting, frozen = list(reversed(self.cells)), {}
        running: dict[Cell, Member] = {}
        while waiting or running:
            while waiting and len(running) < _AT_ONCE:
                cell = waiting.pop()
                running[cell] = crew.first(cell)
            for cell, member in list(running.items()):
                state = crew.state(member)
                if state == "ended" or (state == "frozen" and cell.point.crash_at):
                    raise WorkersFailed(f"the {member} is {state}")
                if state == "frozen":
                    frozen[cell] = member
                if state != "works":
                    del running[cell]
            time.sleep(_LOOK_EVERY)
        return frozen

    def _until(
        self, conn: psycopg.Connection[Any], crew: Crew, schema: str, jobs: _Jobs, what: str,
        needed: Sequence[Member],
    ) -> None:  # fmt: skip
        while jobs and not all(row[what] for row in about(conn, schema, "over", jobs)):
            for member in needed:
                if crew.state(member) in {"ended", "killed"}:
                    raise WorkersFailed(f"the {member} has ended")
            time.sleep(_LOOK_EVERY)

    @contextmanager
    def _crew(self, where: Place) -> Iterator[Crew]:
        crew = Crew(where.dsn, where.schema)
        try:
            yield crew
        except BaseException:
            self.last_words = crew.last_words()
            raise
        finally:
            crew.end()

    def _say(self, text: str) -> None:
        self.say(f"{time.monotonic() - self._began:5.1f} s  {text}")


def _enqueued(app: Any, cell: Cell) -> UUID:
    task = app.get_task(cell.style.task)
    job: UUID = task.using(queue=cell.queue).enqueue(cell=cell.number).id
    return job


def _read(conn: psycopg.Connection[Any], schema: str, jobs: _Jobs) -> list[Result]:
    rows = {row["cell"]: row for row in about(conn, schema, "found", jobs)}
    return [_result(cell, rows[cell.number]) for cell, _ in jobs]


def _result(cell: Cell, row: dict[str, Any]) -> Result:
    found = judged(row["effects"], completed=row["completed"])
    return Result(cell, found, row["effects"], row["runs"], row["refusals"])
