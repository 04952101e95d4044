"""How a handler ends its run itself: in a transaction with its effects, or for now."""

from __future__ import annotations

import asyncio
import random
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import psycopg
from sqlalchemy.engine import Connection, Engine

from emq_sql.errors import BadSetting
from emq_sql.job import End, Outcome
from emq_sql.rules import verdict
from emq_sql.rules.backoff import Policy, Seconds
from emq_sql.rules.durations import duration
from emq_sql.rules.payload import encode_result
from emq_sql.worker.effects import Effects, Kind
from emq_sql.worker.grip import Grip
from emq_sql.worker.snoozing import Snoozed
from emq_sql.worker.standing import finished, must_be_open, must_not_be_over
from emq_sql.worker.transacting import Transactions

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker
    from sqlalchemy.orm import Session, sessionmaker

    S = TypeVar("S", bound=Session)
    A = TypeVar("A", bound=AsyncSession)


class Ends:
    """The part of a `Job` that ends it."""

    __slots__ = ("_backoff", "_effects", "_grip", "_own")

    def __init__(
        self, grip: Grip, effects: Effects, own: Transactions, backoff: Policy | None = None
    ) -> None:
        self._grip = grip
        self._effects = effects
        self._own = own
        self._backoff = backoff

    @overload
    def transaction(self, source: sessionmaker[S]) -> AbstractContextManager[S]: ...

    @overload
    def transaction(
        self, source: Engine | None = None, *, kind: Literal["session"] = "session"
    ) -> AbstractContextManager[Session]: ...

    @overload
    def transaction(
        self, source: Engine | None = None, *, kind: Literal["connection"]
    ) -> AbstractContextManager[Connection]: ...

    @overload
    def transaction(
        self, source: Engine | None = None, *, kind: Literal["psycopg"]
    ) -> AbstractContextManager[psycopg.Connection[Any]]: ...

    def transaction(
        self, source: object = None, *, kind: Kind = "session"
    ) -> AbstractContextManager[Any]:
        """`with job.transaction() as session:` what is written in the block and the end of this run
        are committed as one at its end, so the effects in it happen exactly once; when the block
        raises they are rolled back together, and the job fails as usual.

        Gives a SQLAlchemy Session, a Connection (`kind="connection"`) or a psycopg Connection
        (`kind="psycopg"`) on the ledger's database, or of `source`: an Engine or sessionmaker of
        yours with the same database, where a role may complete jobs. The job completes with the
        result None, unless the block says otherwise: `job.complete(session, result)`,
        `job.snooze(delay)`, `job.retry()`; the last word counts. Nobody else may commit in it
        or end it (CannotGuard): a savepoint takes back a part. One block is open at a time, and
        none after one that was committed (JobFinished); what is committed for the job after it is
        refused.

        From the end of the block to its commit the session may idle for the lease, and 10 s at
        least (on PostgreSQL 17 and later the whole rest is bounded so). Raises LeaseLost at the
        latest at the end, and nothing is committed; Ambiguous when the answer to the commit was
        lost (see `outcome`); LeaseBusy, Retryable, UnsupportedHandle.
        """
        return self._own.opened(source, kind)

    def atransaction(
        self, source: AsyncEngine | async_sessionmaker[A]
    ) -> AbstractAsyncContextManager[AsyncSession]:
        """`transaction` for coroutines: `async with job.atransaction(async_engine) as session:`
        gives an AsyncSession, on psycopg or asyncpg, of an engine or async_sessionmaker of yours
        with the ledger's database. A task that is cancelled during the commit does not know whether
        it took place; the worker asks.
        """
        return self._own.aopened(source)

    def complete(self, handle: object, result: object = None) -> None:
        """Complete the job in the transaction of `handle`, which you then commit: the effects in it
        happen exactly once.

        `handle` is a SQLAlchemy Session or Connection, or a psycopg Connection, of the database
        that holds the ledger. In a block of `transaction`, with its session, this gives the result
        alone: the block completes at its end. Raises LeaseLost when another worker may hold the job
        by now (the transaction can then commit nothing), JobFinished when this run is over (settled
        in another transaction, timed out, put back), LeaseBusy, BadPayload or PayloadTooLarge for
        the result, UnsupportedHandle.
        """
        must_not_be_over(self._grip)
        text = None if result is None else encode_result(result)
        self._own.end(handle, End("complete", text))

    def snooze(self, delay: Seconds, handle: object = None) -> None:
        """Run again after `delay` (seconds or timedelta); no budget is used. Return after it.

        In a block of `transaction` this is how the block ends, committed with its effects; with a
        `handle` (see `complete`) it is part of that transaction, which you then commit. Otherwise
        it counts at once, and what the handler does or returns from here on is ignored. Raises
        JobFinished when the job is settled already, LeaseLost, or BadTime; with a handle also what
        `complete` raises.
        """
        length = duration(delay, "snooze delay", allow_zero=True)
        if not self._ended_in(handle, End("snooze", delay=length)):
            self._finish(Snoozed(length))

    def retry(
        self, delay: Seconds | None = None, error: str | BaseException | None = None,
        handle: object = None,
    ) -> None:  # fmt: skip
        """Count a failure, as if the handler had raised `error`, and try again after `delay`
        (seconds or timedelta), or the task's backoff; a spent budget makes a dead letter. Return
        after it.

        In a block of `transaction`, or with a `handle`, what was written there is kept: see
        `snooze`, whose rules and errors these are.
        """
        wait = None if delay is None else duration(delay, "retry delay", allow_zero=True)
        failures, rng = self._grip.claimed.failures, random.Random()  # noqa: S311 - jitter
        failed = verdict.wanted(error, wait, failures, self._backoff, rng)
        end = End("retry", delay=failed.delay, error=failed.error)
        if not self._ended_in(handle, end):
            self._finish(failed)

    def outcome(self) -> Outcome:
        """What became of this claim, once that is final: for when the answer to a commit was lost
        (Ambiguous, or a connection that broke).

        `completed` or `handed back` (by this run: everything in that transaction stands), `yours`
        (nothing of it was committed, and it never will be), `dead`, `superseded`, `cancelled`,
        `discarded`, or `unknown` when no trace of it is kept. Asks on a connection of its own, and
        waits while a transaction that may settle the job is open, for the length of the lease at
        most: then LeaseBusy; Retryable when no connection is to be had.
        """
        return self._effects.outcome(self._grip.claimed.lease)

    async def aoutcome(self) -> Outcome:
        """`outcome` for coroutines."""
        return await asyncio.to_thread(self.outcome)

    def once(self, key: str, handle: object = None) -> bool:
        """True for the first transaction that commits with this key, False for every other, in
        whichever job or attempt: `if job.once(f"invoice-{n}"): ...`. Rolled back, the key is free.

        `handle` is the transaction that holds the effect (see `complete`); left out, it is that of
        the open block. Keys have 1 to 500 characters and are kept for the ledger's
        `inbox_retention` (30 days). Waits for an open transaction that has the same key, 5 s at
        most: then Retryable, and this transaction has failed. Raises BadSetting for a key that is
        none or outside of a block, UnsupportedHandle, also in autocommit.
        """
        return self._effects.once(self._handle(handle), self._grip.claimed.lease, key)

    async def aonce(self, key: str, handle: object = None) -> bool:
        """`once` for coroutines, in an AsyncSession or AsyncConnection."""
        return await self._effects.aonce(self._handle(handle), self._grip.claimed.lease, key)

    def _handle(self, handle: object) -> object:
        if handle is not None:
            return handle
        if self._own.block is None:
            raise BadSetting(
                "No transaction was given.",
                hint="Give its session or connection, or call it in a job.transaction() block.",
            )
        return self._own.block.handle

    def _ended_in(self, handle: object, end: End) -> bool:
        if handle is None and self._own.block is None:
            return False
        must_not_be_over(self._grip)
        self._own.end(handle, end)
        return True

    def _finish(self, ending: verdict.Failed | Snoozed) -> None:
        must_be_open(self._grip)
        if not self._grip.finish(ending):
            raise finished(self._grip.claimed.lease.id)
