"""One run of a handler: the call, and the ending that comes of it. The same in every executor."""

from __future__ import annotations

import contextlib
import inspect
import os
import random
import sys
import traceback
from collections.abc import Awaitable
from pathlib import Path
from types import GeneratorType, TracebackType
from typing import Any, NoReturn

from emq_sql.crashpoints import crash_point
from emq_sql.errors import BadSetting, LeaseLost
from emq_sql.rules import verdict
from emq_sql.rules.payload import decode
from emq_sql.rules.permanence import is_permanent
from emq_sql.worker.context import Job
from emq_sql.worker.current import running
from emq_sql.worker.effects import Effects, Kind
from emq_sql.worker.endings import CompletedByHandler, Ending, RefusedInHandler
from emq_sql.worker.grip import Grip
from emq_sql.worker.handler import Handler
from emq_sql.worker.hooks import Hooks
from emq_sql.worker.transacting import Transactions

_OUR_FRAMES = str(Path(__file__).parent) + os.sep


class Run:
    """Calls the handler of one job, and says what is to be settled about it."""

    __slots__ = ("_called", "_effects", "_grip", "_handler", "_pid", "_rng")

    def __init__(self, handler: Handler, grip: Grip, effects: Effects, rng: random.Random) -> None:
        self._handler = handler
        self._grip = grip
        self._effects = effects
        self._rng = rng
        self._pid = os.getpid()
        self._called = False

    def call(self) -> object:
        """What the handler returns: an awaitable, when it is async. Raises what it raises, and
        BadPayload when the arguments do not fit. Call it in a context of its own.
        """
        claimed = self._grip.claimed
        running.set(claimed)
        guard = self._handler.guard
        self._effects.begin(claimed.lease, self._grip.note_refusal, guard=guard)
        args, kwargs = decode(claimed.payload)
        self._handler.must_fit(args, kwargs)
        own = Transactions(self._grip, self._effects)
        if self._handler.takes_context:
            args = (Job(self._grip, self._effects, own, self._handler.backoff), *args)
        crash_point("mid-handler")
        if self._handler.transaction is None:
            return self._function(args, kwargs)
        return self._in_transaction(own, self._handler.transaction, args, kwargs)

    def _in_transaction(
        self, own: Transactions, kind: Kind, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> object:
        context, rest = args[: self._handler.takes_context], args[self._handler.takes_context :]
        with own.opened(None, kind) as handle:
            value = self._function((*context, handle, *rest), kwargs)
            if awaitable(value) is not None:
                if inspect.iscoroutine(value):
                    value.close()
                raise BadSetting(
                    f"The handler of {self._handler.task!r} returned an awaitable out of its"
                    " transaction, which would be committed before it has run.",
                    hint="In a coroutine use `async with job.atransaction(...)`.",
                )
            own.returned(value)
        return value

    def _function(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        self._called = True
        trace, profile = sys.gettrace(), sys.getprofile()
        try:
            return self._handler.function(*args, **kwargs)
        finally:
            # Here, before any other function is called: one that it has left may raise then.
            if sys.gettrace() is not trace:
                sys.settrace(trace)
            if sys.getprofile() is not profile:
                sys.setprofile(profile)

    async def finished(
        self, waits: Awaitable[object] | None, hooks: Hooks
    ) -> tuple[object, BaseException | None]:
        """What an async handler came to, and what it raised, if it did: called here, or gone on
        with from the awaitable that it has returned. `hooks` are put back.
        """
        trouble: BaseException | None = None
        value: object = None
        try:
            if waits is None:
                value = self.call()
                waits = awaitable(value)
            if waits is not None:
                value = await waits
        except BaseException as error:  # noqa: BLE001 - also SystemExit, which would end the loop
            trouble = error
        # Here and in no function: see Hooks.put_back.
        if sys.gettrace() is not hooks.trace:
            sys.settrace(hooks.trace)
        if sys.getprofile() is not hooks.profile:
            sys.setprofile(hooks.profile)
        hooks.put_back()
        return value, trouble

    def ending(
        self, value: object, trouble: BaseException | None, *, befell: bool = False
    ) -> Ending:
        """What a run that returned `value`, or raised `trouble`, means for its job.

        With `befell` the trouble is none of the handler's: so it cannot be a permanent one.
        """
        self.leave_fork(trouble)
        self._effects.end(self._grip.claimed.lease)
        crash_point("after-effect")
        try:
            return self._ending(value, trouble, befell=befell)
        except BaseException as error:  # noqa: BLE001 - a result that raises when it is read
            return verdict.raised(error, self._grip.claimed.failures, None, self._rng)

    def leave_fork(self, trouble: BaseException | None) -> None:
        """End this process if the handler has forked it, and has returned in the child as well: the
        job is the parent's, whose connections the child would keep open.
        """
        if os.getpid() != self._pid:
            _leave_child(trouble)

    def _ending(self, value: object, trouble: BaseException | None, *, befell: bool) -> Ending:
        reason: verdict.Reason = "exception"
        if trouble is not None and self._called and not befell:
            # Arguments that do not fit are no word of the handler's: another version may take them.
            permanent = is_permanent(trouble, self._handler.permanent)
            reason = "permanent" if permanent else "exception"
        if self._grip.completing:
            error = trouble or LeaseLost(
                "The handler completed the job in its own transaction, which was not committed.",
                hint="Commit the transaction before the handler returns.",
            )
            failed, raised = self._failed(error, reason), trouble is not None
            return CompletedByHandler(failed, raised, self._grip.verb, self._grip.committed)
        if trouble is None and not self._grip.refused:
            return verdict.returned(value)
        error = trouble or LeaseLost("The handler's completion was refused, and it went on.")
        failed = self._failed(error, reason)
        # What was refused is on record already: a fail would be a second row. Whether the job is
        # lost is asked; one that is not has failed.
        lost = isinstance(trouble, LeaseLost) and self._called and not befell
        return RefusedInHandler(failed) if self._grip.refused or lost else failed

    def _failed(self, error: BaseException, reason: verdict.Reason) -> verdict.Failed:
        failures, policy = self._grip.claimed.failures, self._handler.backoff
        return verdict.raised(_without_our_frames(error), failures, policy, self._rng, reason)


def awaitable(value: object) -> Awaitable[object] | None:
    """What a handler has returned, if it is to be awaited.

    As `await` does it looks at the type alone: what an object says of itself may raise.
    """
    kind = type(value)
    generator = kind is GeneratorType and bool(
        value.gi_code.co_flags & inspect.CO_ITERABLE_COROUTINE  # type: ignore[attr-defined]
    )
    return value if generator or issubclass(kind, Awaitable) else None  # type: ignore[return-value]


def _leave_child(trouble: BaseException | None) -> NoReturn:
    code = trouble.code if isinstance(trouble, SystemExit) else int(trouble is not None)
    with contextlib.suppress(Exception):
        if trouble is not None and not isinstance(trouble, SystemExit):
            traceback.print_exception(trouble)
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


def _without_our_frames(error: BaseException) -> BaseException:
    at: TracebackType | None = error.__traceback__
    while at is not None and at.tb_frame.f_code.co_filename.startswith(_OUR_FRAMES):
        at = at.tb_next
    return error.with_traceback(at)
