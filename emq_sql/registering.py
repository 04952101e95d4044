"""The tasks of an application: what is registered under which name, and with which defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import (
    Any,
    Concatenate,
    Literal,
    ParamSpec,
    TypedDict,
    TypeVar,
    Unpack,
    get_args,
    overload,
)

from emq_sql.errors import BadSetting, UnknownTask
from emq_sql.preparing import Options
from emq_sql.rules import names
from emq_sql.rules.backoff import Policy, as_backoff
from emq_sql.rules.durations import duration
from emq_sql.rules.permanence import Exceptions, permanent_classes
from emq_sql.rules.unique import KeyOf, While
from emq_sql.tasks import (
    Duration,
    Sender,
    Task,
    checked_budget,
    checked_lease,
    checked_priority,
    checked_unique,
    function_name,
)
from emq_sql.worker.effects import Kind
from emq_sql.worker.handler import Handler

P = ParamSpec("P")
R = TypeVar("R")


class TaskSettings(TypedDict, total=False):
    """What may be said of a task that does not change how its function is called."""

    name: str | None
    queue: str
    priority: int
    max_attempts: int | None
    lease: Duration | None
    timeout: Duration | None
    expires: Duration | None
    unique_key: str | KeyOf | None
    unique_while: While | None
    unique_for: Duration | None
    backoff: Policy | None
    permanent: Exceptions
    cancel_sql: bool
    guard: bool


class Registry:
    """The part of an `EMQ` that knows its tasks."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._tasks: dict[str, Task[..., Any]] = {}

    @property
    def tasks(self) -> Mapping[str, Task[..., Any]]:
        """The registered tasks by name."""
        return dict(self._tasks)

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """What a worker needs of the registered tasks."""
        return {name: task.handler for name, task in self._tasks.items()}

    @overload
    def task(self, function: Callable[P, R], /) -> Task[P, R]: ...

    @overload
    def task(
        self,
        /,
        *,
        takes_context: Literal[False] = False,
        transaction: Literal[False] = False,
        **given: Unpack[TaskSettings],
    ) -> Callable[[Callable[P, R]], Task[P, R]]: ...

    @overload
    def task(
        self,
        /,
        *,
        takes_context: Literal[True],
        transaction: Literal[False] = False,
        **given: Unpack[TaskSettings],
    ) -> Callable[[Callable[Concatenate[Any, P], R]], Task[P, R]]: ...

    @overload
    def task(
        self,
        /,
        *,
        takes_context: Literal[False] = False,
        transaction: Kind | Literal[True],
        **given: Unpack[TaskSettings],
    ) -> Callable[[Callable[Concatenate[Any, P], R]], Task[P, R]]: ...

    @overload
    def task(
        self,
        /,
        *,
        takes_context: Literal[True],
        transaction: Kind | Literal[True],
        **given: Unpack[TaskSettings],
    ) -> Callable[[Callable[Concatenate[Any, Any, P], R]], Task[P, R]]: ...

    def task(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        queue: str = "default",
        priority: int = 2,
        max_attempts: int | None = None,
        lease: Duration | None = None,
        timeout: Duration | None = None,
        expires: Duration | None = None,
        unique_key: str | KeyOf | None = None,
        unique_while: While | None = None,
        unique_for: Duration | None = None,
        backoff: Policy | None = None,
        permanent: Exceptions = (),
        cancel_sql: bool = False,
        takes_context: bool = False,
        guard: bool = True,
        transaction: Kind | bool = False,
    ) -> Any:
        """Register a function as a task; its jobs carry these defaults.

        `name` is the function's own when left out (without its module, so that moving a file
        strands no job). `max_attempts` limits failures and lost leases together, `lease` is how
        long a worker may be silent, `timeout` how long one run may take; durations are seconds or
        timedelta. Past `expires` after it was due a job is not begun any more. `unique_key`,
        `unique_while` and `unique_for` are those of `using`. `backoff` is a Backoff, a function of
        the failures, or constant seconds; what is raised of the classes in `permanent` is not tried
        again, nor is `Permanent`. With `takes_context` the function gets a Job as its first
        argument. With `cancel_sql` an operator's cancel also cancels the SQL that it has under way
        (direct connections of SQLAlchemy with psycopg).

        With `transaction` the function is called in a transaction that ends its run, and gets its
        handle first (after the Job): a Session (True, or "session"), a "connection" or a "psycopg"
        connection on the ledger's database. What it returns is the result, and that and what it
        wrote are committed as one: see `Job.transaction`. Not for coroutines. With `guard=False`
        its other commits stand even when the job is lost meanwhile. Called directly, the function
        is given by the caller what a worker would give it. Raises BadInput.
        """
        options = Options(
            queue=names.queue_name(queue),
            priority=checked_priority(priority),
            max_attempts=None if max_attempts is None else checked_budget(max_attempts),
            lease=None if lease is None else checked_lease(lease),
            expires=None if expires is None else duration(expires, "expires"),
            unique=checked_unique(unique_key, unique_while, unique_for),
        )
        limit = None if timeout is None else duration(timeout, "timeout")
        policy = None if backoff is None else as_backoff(backoff)
        hopeless = permanent_classes(permanent)
        kind = _kind(transaction)

        def register(function: Callable[..., Any]) -> Task[..., Any]:
            if isinstance(function, Task):  # another application's task: the same function
                function = function.handler.function
            called = function_name(function) if name is None else names.task_name(name)
            handler = Handler(
                called, function, takes_context, limit, policy, hopeless, guard, cancel_sql, kind
            )
            return self._register(Task(self._sender, handler, options))

        return register if function is None else register(function)

    def _register(self, task: Task[..., Any]) -> Task[..., Any]:
        there = self._tasks.get(task.name)
        if there is not None and there.handler.function is not task.handler.function:
            one, two = there.handler.function, task.handler.function
            raise BadSetting(
                f"Two tasks are named {task.name!r}: {one.__module__}.{one.__qualname__} and"
                f" {two.__module__}.{two.__qualname__}.",
                hint="Give one of them another name: @emq.task(name=...).",
            )
        self._tasks[task.name] = task
        return task

    def get_task(self, name: str) -> Task[..., Any]:
        """The task of this name; raises UnknownTask."""
        try:
            return self._tasks[name]
        except KeyError:
            known = ", ".join(sorted(self._tasks)) or "none"
            raise UnknownTask(
                f"No task is named {name!r}.", hint=f"Registered here: {known}."
            ) from None


def _kind(transaction: object) -> Kind | None:
    if transaction is None or isinstance(transaction, bool):
        return "session" if transaction else None
    for kind in get_args(Kind):
        if transaction == kind:
            return kind  # type: ignore[no-any-return]
    raise BadSetting(
        f"transaction={names.shown(transaction)} is none.",
        hint='Give True, "session", "connection" or "psycopg".',
    )
