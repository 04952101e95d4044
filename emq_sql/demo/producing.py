"""Adds files and their jobs, a batch at a time and each batch in one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from emq_sql.demo.application import Application
from emq_sql.demo.paths import written
from emq_sql.demo.queries import Schemas
from emq_sql.demo.tree import Found

_BATCHES = 24
_LARGEST = 250
_RESERVE = 6


class Producer:
    """Keeps the line of jobs short instead of filling it at once, as a live application would.

    The first file of each batch is measured slowly. The last batches are kept back while faults are
    still to come: then one is added whenever the workers have run out of work.
    """

    def __init__(self, app: Application, schemas: Schemas, files: Sequence[Found]) -> None:
        self._app = app
        self._schemas = schemas
        size = max(1, min(-(-len(files) // _BATCHES), _LARGEST))
        self._batches = [files[at : at + size] for at in range(0, len(files), size)]
        self._size = size

    @property
    def done(self) -> bool:
        """True when every file has its job."""
        return not self._batches

    def add(self, waiting: int, in_flight: int, *, faults_to_come: bool) -> bool:
        """Add the next batch if it is time; whether it was.

        `waiting` and `in_flight` are the jobs before and in the hands of the workers.
        """
        if not self._batches:
            return False
        kept_back = faults_to_come and len(self._batches) <= _RESERVE
        if waiting + in_flight > 0 if kept_back else waiting > self._size:
            return False
        self._enqueue(self._batches.pop(0))
        return True

    def _enqueue(self, batch: Sequence[Found]) -> None:
        paths = [written(file.path) for file in batch]
        slow, *usual = paths
        jobs = [self._app.measure_slowly.job(path=slow)]
        jobs += [self._app.measure.job(path=path) for path in usual]
        with Session(self._app.emq.engine) as session:
            answers = self._app.emq.enqueue_many(jobs, session=session)
            session.connection().exec_driver_sql(
                self._schemas.text("add_files"),
                {
                    "paths": paths,
                    "jobs": [answer.id for answer in answers],
                    "sizes": [file.size for file in batch],
                },
            )
            session.commit()
