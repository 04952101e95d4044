"""Arguments and options become jobs that are ready to be added: checked, and with their ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

from emq_sql.errors import BadInput, BadPayload
from emq_sql.job import NewBatch, NewJob
from emq_sql.minting import new_id, new_ids
from emq_sql.rules import ids, payload
from emq_sql.rules.expiry import with_expiry
from emq_sql.rules.unique import Unique

_LONGEST_BATCH = 16 * 1024 * 1024  # characters of JSON: one jsonb value holds 256 MB at most


@dataclass(frozen=True, slots=True)
class Options:
    """What `using` says of jobs; `None` leaves it to the task, and then to the queue."""

    queue: str
    session: object | None = None
    delay: timedelta | None = None
    run_at: datetime | None = None
    priority: int = 2
    job_id: UUID | None = None
    max_attempts: int | None = None
    lease: timedelta | None = None
    headers: str | None = None  # JSON text, checked
    expires: timedelta | None = None
    unless_waiting: bool = False
    unique: Unique | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A job made ready by `Task.job`, for `EMQ.enqueue_many`."""

    queue: str
    job: NewJob
    minted: bool  # the id was made for this job, so that a duplicate of it can only be itself


@dataclass(frozen=True, slots=True)
class PreparedBatch:
    """Jobs made ready together."""

    batch: NewBatch

    def one_by_one(self) -> list[Prepared]:
        """The same jobs as they were made ready, whatever became of their arguments since."""
        batch = self.batch
        return [
            Prepared(
                batch.queue,
                NewJob(
                    batch.task,
                    text,
                    id,
                    batch.priority,
                    max_attempts=batch.max_attempts,
                    lease=batch.lease,
                    headers=batch.headers,
                ),
                minted=True,
            )
            for id, text in zip(batch.ids, payload.each_of(batch.payloads), strict=True)
        ]


class _Task(Protocol):
    """What is needed of a task."""

    name: str

    @property
    def sender(self) -> _Sender: ...

    def check_arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None: ...


class _Sender(Protocol):
    @property
    def payload_limit(self) -> int: ...


class Preparing:
    """Makes jobs of one task with the same options. Raises BadInput for arguments that it cannot
    be called with, or that cannot be kept.
    """

    __slots__ = ("_said", "_task")

    def __init__(self, task: _Task, options: Options) -> None:
        self._task = task
        self._said = options

    def one_of(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], job_id: UUID | str | None
    ) -> Prepared:
        """The job with these arguments; without an id, one is minted."""
        self._task.check_arguments(args, kwargs)
        said = self._said
        job = NewJob(
            task=self._task.name,
            payload=payload.encode(args, kwargs, self._task.sender.payload_limit),
            id=new_id() if job_id is None else ids.check(job_id),
            priority=said.priority,
            run_at=said.run_at,
            delay=said.delay,
            max_attempts=said.max_attempts,
            lease=said.lease,
            headers=with_expiry(said.headers, said.expires, said.delay, said.run_at),
            unless_waiting=said.unless_waiting,
            unique=None if said.unique is None else said.unique.of(self._task.name, args, kwargs),
        )
        return Prepared(said.queue, job, minted=job_id is None)

    def all_of(
        self, rows: Sequence[Mapping[str, Any]], job_ids: Sequence[UUID | str | None]
    ) -> list[Prepared]:
        """A job for each row of keyword arguments. An error says which row it is about."""
        prepared = []
        for n, (row, job_id) in enumerate(zip(rows, job_ids, strict=True)):
            try:
                prepared.append(self.one_of((), _keywords(row), job_id))
            except BadInput as error:
                raise _numbered(error, n, len(rows)) from None
        return prepared

    def batch_of(self, rows: Sequence[Mapping[str, Any]]) -> PreparedBatch | None:
        """The same jobs as `all_of`, with ids minted here, in the form that costs least.

        None when there is no such form: they are not due at once, each has a unique key, or they
        are too long together.
        """
        said, limit = self._said, self._task.sender.payload_limit
        if not rows or said.delay is not None or said.run_at is not None or said.unique is not None:
            return None
        documents = []
        shape: tuple[str, ...] | None = None
        for n, row in enumerate(rows):
            try:
                document = row if type(row) is dict else _keywords(row)
                known = tuple(document) == shape
                if not known or not payload.is_small(document, limit):
                    self._task.check_arguments((), document)
                    payload.encode((), document, limit)
                    shape = tuple(document)
            except BadInput as error:
                raise _numbered(error, n, len(rows)) from None
            documents.append(document)
        payloads = payload.encode_array(documents)
        if len(payloads) > _LONGEST_BATCH:
            return None
        batch = NewBatch(
            queue=said.queue,
            task=self._task.name,
            ids=new_ids(len(rows)),
            payloads=payloads,
            priority=said.priority,
            max_attempts=said.max_attempts,
            lease=said.lease,
            headers=with_expiry(said.headers, said.expires, None, None),
        )
        return PreparedBatch(batch)


def _numbered(error: BadInput, n: int, count: int) -> BadInput:
    return type(error)(f"Job {n} of {count}: {error.what}", hint=error.hint)


def _keywords(row: object) -> dict[str, Any]:
    if isinstance(row, Mapping):
        return dict(row)
    raise BadPayload(
        f"The arguments are of type {type(row).__name__}.",
        hint="Give a mapping of keyword arguments for each job.",
    )
