"""What runs for a task."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from emq_sql.errors import BadPayload
from emq_sql.rules.backoff import Policy
from emq_sql.rules.shapes import Shapes
from emq_sql.worker.effects import Kind


@dataclass(frozen=True, slots=True)
class Handler:
    """A function for a task, sync or async.

    `takes_context` puts the `Job` in front of its arguments. Past `timeout` the run counts as a
    failure. `backoff` says how long a failed job waits; None is the usual curve. What it raises of
    the classes in `permanent` is not tried again. Without `guard` its commits are not guarded.
    With `cancel_sql` an operator's cancel also cancels the SQL that it has under way. With a
    `transaction` it is called in one that ends its run, with a handle of that kind in front of its
    arguments, after the Job; what it returns is the result.
    """

    task: str
    function: Callable[..., Any]
    takes_context: bool = False
    timeout: timedelta | None = None
    backoff: Policy | None = None
    permanent: tuple[type[Exception], ...] = ()
    guard: bool = True
    cancel_sql: bool = False
    transaction: Kind | None = None
    shapes: Shapes = field(default_factory=Shapes, compare=False, repr=False)

    def must_fit(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise BadPayload for arguments that the function does not take. What has fitted once,
        by number and names, is not looked at again.
        """
        error = self.shapes.misfit(self._signature, self.leading, args, kwargs)
        if error is not None:
            what = f"The arguments of this job do not fit the task {self.task!r}: {error}."
            raise BadPayload(what, hint="Was it enqueued for another version of the task?")

    def _signature(self) -> inspect.Signature | None:
        try:
            return inspect.signature(self.function)
        except (TypeError, ValueError):  # some functions written in C have none
            return None

    @property
    def leading(self) -> int:
        """How many arguments it gets that are no job's."""
        return self.takes_context + (self.transaction is not None)

    @property
    def is_async(self) -> bool:
        """Whether it returns a coroutine, as far as can be seen without calling it."""
        function = self.function
        while isinstance(function, functools.partial):
            function = function.func
        if inspect.iscoroutinefunction(function):
            return True
        return not inspect.isroutine(function) and inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - whether it is async, not whether it is
        )
