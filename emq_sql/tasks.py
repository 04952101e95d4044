"""Tasks: registered functions, and what is said of a job before it is enqueued."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Generic, ParamSpec, Protocol, TypeVar
from uuid import UUID

from emq_sql.errors import BadName, BadPayload, BadSetting
from emq_sql.job import Enqueued
from emq_sql.preparing import Options, Prepared, PreparedBatch, Preparing
from emq_sql.protocol.bridging import waited
from emq_sql.rules import ids, lease, names, payload
from emq_sql.rules.durations import aware, duration
from emq_sql.rules.shapes import Shapes
from emq_sql.rules.unique import KeyOf, Unique, While, unique
from emq_sql.worker.handler import Handler

P = ParamSpec("P")
R = TypeVar("R")
Duration = float | timedelta

_NAME_IT = 'Decorate a function: @emq.task, or @emq.task(name="...").'


class Sender(Protocol):
    """What a task needs of its application."""

    @property
    def payload_limit(self) -> int: ...

    def enqueue_many(
        self, jobs: Sequence[Prepared], *, session: object | None = None
    ) -> list[Enqueued]: ...

    def enqueue_batch(self, batch: PreparedBatch, session: object | None) -> list[Enqueued]: ...


class Using(Generic[P]):
    """A task with options; `enqueue` adds jobs with them. Immutable: keep and share it."""

    def __init__(self, task: Task[P, Any], options: Options) -> None:
        self._task = task
        self._options = options
        self._made = Preparing(task, options)

    def enqueue(self, /, *args: P.args, **kwargs: P.kwargs) -> Enqueued:
        """Add one job with these arguments.

        With `session=` it is part of that transaction and exists when it commits: nothing is
        committed, retried or reconnected under the caller; an error that the database raised has
        failed that transaction. Without, it is committed when this returns; a lost connection is
        retried under the same id, which cannot make a second job. Answers the id and `enqueued`,
        `scheduled` or `duplicate`. Raises BadInput for arguments or options that cannot be kept
        (nothing is written), DatabaseTrouble otherwise.
        """
        prepared = self._made.one_of(args, kwargs, self._options.job_id)
        return self._task.sender.enqueue_many([prepared], session=self._options.session)[0]

    def enqueue_many(
        self, arguments: Iterable[Mapping[str, Any]], *, job_ids: Iterable[UUID | str] | None = None
    ) -> list[Enqueued]:
        """Add a job for each mapping of keyword arguments, with one statement and all or none.

        The answers are in the order given. `job_ids` gives each its id; an id twice is a
        `duplicate` the second time. Transaction rules and errors are those of `enqueue`.
        """
        if self._options.job_id is not None:
            raise BadSetting(
                "One job_id was given for many jobs.", hint="Give enqueue_many(job_ids=[...])."
            )
        if self._options.unless_waiting:
            raise BadSetting("unless_waiting is for one job.", hint="Use enqueue(...).")
        # A generator may give one dict again and again, with other values each time.
        rows = [row.copy() if type(row) is dict else row for row in arguments]
        if job_ids is None and (batch := self._made.batch_of(rows)) is not None:
            return self._task.sender.enqueue_batch(batch, self._options.session)
        given: list[UUID | str | None] = [None] * len(rows) if job_ids is None else [*job_ids]
        if len(given) != len(rows):
            raise BadSetting(
                f"{len(rows)} jobs were given {len(given)} ids.", hint="Give one id for each job."
            )
        prepared = self._made.all_of(rows, given)
        return self._task.sender.enqueue_many(prepared, session=self._options.session)

    async def aenqueue(self, /, *args: P.args, **kwargs: P.kwargs) -> Enqueued:
        """`enqueue` for coroutines: the event loop goes on meanwhile, and all else is the same.

        `session=` is an AsyncSession, an AsyncConnection or a psycopg AsyncConnection. Without, it
        is `enqueue` in a thread: a task that is cancelled then does not know whether the job was
        added. Cancelled with a session, it leaves a transaction that has failed.
        """
        return await waited(self._options.session, lambda s: self._in(s).enqueue(*args, **kwargs))

    async def aenqueue_many(
        self, arguments: Iterable[Mapping[str, Any]], *, job_ids: Iterable[UUID | str] | None = None
    ) -> list[Enqueued]:
        """`enqueue_many` for coroutines; see `aenqueue`."""
        return await waited(
            self._options.session, lambda s: self._in(s).enqueue_many(arguments, job_ids=job_ids)
        )

    def _in(self, session: object | None) -> Using[P]:
        return Using(self._task, replace(self._options, session=session))

    def job(self, /, *args: P.args, **kwargs: P.kwargs) -> Prepared:
        """The same job as `enqueue` would add, for `EMQ.enqueue_many`; nothing is written yet.

        The session, if any, is that call's to give: raises BadSetting when one was given here.
        """
        if self._options.session is not None:
            raise BadSetting(
                "A session was given for a job that is only made ready.",
                hint="Give it to EMQ.enqueue_many(jobs, session=...), which adds the job.",
            )
        return self._made.one_of(args, kwargs, self._options.job_id)


class Task(Generic[P, R]):
    """A registered function. Calling it runs it here and now; `enqueue` makes a job of it."""

    def __init__(self, sender: Sender, handler: Handler, options: Options) -> None:
        self.sender = sender
        self.handler = handler
        self.options = options
        self.name = handler.task
        self.__name__ = getattr(handler.function, "__name__", handler.task)
        self.__doc__ = handler.function.__doc__
        self.__wrapped__ = handler.function
        self._signature = signature(handler)
        self._shapes = Shapes()
        self._usual: Using[P] = Using(self, options)

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        result: R = self.handler.function(*args, **kwargs)
        return result

    def __repr__(self) -> str:
        return f"<Task {self.name} on queue {self.options.queue}>"

    def enqueue(self, /, *args: P.args, **kwargs: P.kwargs) -> Enqueued:
        """Add one job in a transaction of its own; see `Using.enqueue`."""
        return self._usual.enqueue(*args, **kwargs)

    def enqueue_many(
        self, arguments: Iterable[Mapping[str, Any]], *, job_ids: Iterable[UUID | str] | None = None
    ) -> list[Enqueued]:
        """Add many jobs in one transaction of their own; see `Using.enqueue_many`."""
        return self._usual.enqueue_many(arguments, job_ids=job_ids)

    async def aenqueue(self, /, *args: P.args, **kwargs: P.kwargs) -> Enqueued:
        """Add one job in a transaction of its own; see `Using.aenqueue`."""
        return await self._usual.aenqueue(*args, **kwargs)

    async def aenqueue_many(
        self, arguments: Iterable[Mapping[str, Any]], *, job_ids: Iterable[UUID | str] | None = None
    ) -> list[Enqueued]:
        """Add many jobs in one transaction of their own; see `Using.aenqueue_many`."""
        return await self._usual.aenqueue_many(arguments, job_ids=job_ids)

    def job(self, /, *args: P.args, **kwargs: P.kwargs) -> Prepared:
        """A job made ready for `EMQ.enqueue_many`; nothing is written yet."""
        return self._usual.job(*args, **kwargs)

    def using(
        self,
        *,
        session: object | None = None,
        delay: Duration | None = None,
        run_at: datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
        job_id: UUID | str | None = None,
        max_attempts: int | None = None,
        lease: Duration | None = None,
        headers: Mapping[str, Any] | None = None,
        expires: Duration | None = None,
        unless_waiting: bool = False,
        unique_key: str | KeyOf | None = None,
        unique_while: While | None = None,
        unique_for: Duration | None = None,
    ) -> Using[P]:
        """Say how the next jobs are enqueued; what is left out is the task's, then the queue's.

        `session` is a SQLAlchemy Session or Connection or a psycopg Connection whose transaction
        the jobs join (for `aenqueue` an asynchronous one of them). `delay` (seconds or timedelta)
        counts on the server's clock; `run_at` is an aware datetime; give one of them. `priority` is
        0 (first) to 4 (last). `job_id` is a UUIDv7: enqueuing it again is a duplicate
        (`emq_sql.job_id` makes one from a key). `lease` is how long a worker may be silent before
        the job is given to another. A job whose first claim comes more than `expires` (seconds or
        timedelta) after it is due is not run: it is a dead letter with the reason `expired`. With
        `unless_waiting` nothing is added while a job of this task waits in the queue (the answer is
        `duplicate`, with its id): it begins after this transaction, so its run sees what this one
        wrote. With `unique_key` (1 to 500 characters, for the whole ledger; or a function that
        makes it, or None, of the arguments) nothing is added while another job holds the key, whose
        id is answered with `duplicate`: until that has ended (`unique_while="unfinished"`, the
        usual one), until a worker has it ("waiting"), or for `unique_for` (seconds or timedelta)
        after its enqueue, whatever becomes of it. Needs READ COMMITTED. Raises BadInput.
        """
        if delay is not None and run_at is not None:
            raise BadSetting("Both delay and run_at were given.", hint="Give one of them.")
        said = self.options
        chosen = replace(
            said,
            session=session,
            delay=None if delay is None else duration(delay, "delay", allow_zero=True),
            run_at=None if run_at is None else aware(run_at, "run_at"),
            priority=said.priority if priority is None else checked_priority(priority),
            queue=said.queue if queue is None else names.queue_name(queue),
            job_id=None if job_id is None else ids.check(job_id),
            max_attempts=said.max_attempts
            if max_attempts is None
            else checked_budget(max_attempts),
            lease=said.lease if lease is None else checked_lease(lease),
            headers=None if headers is None else _headers(headers),
            expires=said.expires if expires is None else duration(expires, "expires"),
            unless_waiting=unless_waiting,
            unique=checked_unique(unique_key, unique_while, unique_for) or said.unique,
        )
        if chosen.unless_waiting and chosen.unique is not None:
            raise BadSetting(
                "Both unless_waiting and unique_key were given.", hint="Give one of them."
            )
        return Using(self, chosen)

    def check_arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Raise BadPayload when the function could not be called with these arguments."""
        leading = self.handler.leading
        error = self._shapes.misfit(lambda: self._signature, leading, args, kwargs)
        if error is not None:
            raise BadPayload(
                f"Task {self.name} cannot be called with these arguments: {error}.",
                hint="They would fail at the worker: enqueue what the function takes.",
            )


def checked_priority(value: object) -> int:
    """A priority, 0 (first) to 4 (last); raises BadSetting."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 4:
        return value
    what = f"Priority {names.shown(value)} is none."
    raise BadSetting(what, hint="Priorities are 0 (first) to 4 (last).")


def checked_budget(value: object, setting: str = "max_attempts") -> int:
    """A max_attempts or max_stalled, 1 to 32767; raises BadSetting."""
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 32767:
        return value
    raise BadSetting(
        f"{setting} {names.shown(value)} is none.", hint="Give a number from 1 to 32767."
    )


def checked_unique(
    key: str | KeyOf | None, during: While | None, span: Duration | None
) -> Unique | None:
    """What is said of a unique key; raises BadName or BadSetting."""
    if key is not None:
        return unique(key, during, None if span is None else duration(span, "unique_for"))
    if during is not None or span is not None:
        raise BadSetting(
            "It was said how long a unique key is held, and no key was given.",
            hint="Give unique_key too.",
        )
    return None


def checked_lease(value: Duration) -> timedelta:
    """A lease; raises BadSetting or BadTime."""
    return lease.lease_length(value)


def function_name(function: Callable[..., Any]) -> str:
    """The name under which a function is registered when none is given: its own, without module.

    Jobs outlive refactorings: a name with the module in it would strand them when a file moves.
    Raises BadName for what has no name of its own (a lambda, a partial).
    """
    own = getattr(function, "__name__", "<none>")
    if own.startswith("<"):
        raise BadName("A task needs a name, and this function has none.", hint=_NAME_IT)
    return names.task_name(own)


def signature(handler: Handler) -> inspect.Signature:
    """How the function of a task is called; raises BadSetting for what cannot be a task."""
    if not callable(handler.function):
        raise BadSetting(f"A {type(handler.function).__name__} cannot be a task.", hint=_NAME_IT)
    try:
        found = inspect.signature(handler.function)
    except (TypeError, ValueError):
        raise BadSetting(
            f"Task {handler.task}: Python cannot tell which arguments its function takes.",
            hint="Wrap it in a function of yours.",
        ) from None
    if handler.transaction is not None and handler.is_async:
        raise BadSetting(
            f"Task {handler.task} is a coroutine, and a transaction was wanted around it.",
            hint="Leave transaction out, and use `async with job.atransaction(...)` in it.",
        )
    if handler.leading:
        _must_take(found, handler)
    return found


def _must_take(found: inspect.Signature, handler: Handler) -> None:
    try:
        found.bind_partial(*(None for _ in range(handler.leading)))
    except TypeError:
        what, parameters = "the context", "a first parameter for the Job"
        if handler.transaction is not None:
            also = handler.takes_context
            what = "the context and a transaction" if also else "a transaction"
            parameters = "parameters for the Job and its handle" if also else "one for its handle"
        raise BadSetting(
            f"Task {handler.task} takes {what}, and its function has no argument for it.",
            hint=f"Give it {parameters}.",
        ) from None


def _headers(headers: object) -> str:
    if isinstance(headers, Mapping):
        return payload.encode_headers(headers)
    raise BadPayload(
        f"The headers are of type {type(headers).__name__}.", hint="Give a mapping of names."
    )
