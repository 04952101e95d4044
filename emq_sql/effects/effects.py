"""What a run may do in its own transactions, for the handlers of one worker or one child of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any
from uuid import UUID

from sqlalchemy.engine import Engine

from emq_sql.effects import django, hook, owning
from emq_sql.effects.asking import outcome_of
from emq_sql.effects.completion import driver_in, settle_in
from emq_sql.effects.coroutine import aonce, aopened, asettle
from emq_sql.effects.current import Guarded, here, whose
from emq_sql.effects.guards import guard_in, must_lead_home
from emq_sql.effects.inbox import once_in
from emq_sql.effects.ledgers import Ledgers
from emq_sql.effects.stopping import Stopping
from emq_sql.effects.transaction import Kind, opened
from emq_sql.errors import BadSetting
from emq_sql.job import End, Lease, Outcome, SettleAnswer


class DatabaseEffects:
    """The worker's `Effects`, in the ledger of this schema.

    `engine`, or what gives it when it is first needed, is the ledger's database: for `transaction`
    and `outcome` alone.
    """

    def __init__(self, schema: str, engine: Engine | Callable[[], Engine] | None = None) -> None:
        self._schema = schema
        self._engine = engine
        self._ledgers = Ledgers(schema, engine)
        hook.install()
        self._stopping = Stopping()
        self._runs: dict[tuple[UUID, int], Guarded] = {}

    def begin(self, lease: Lease, refused: Callable[[str], None], *, guard: bool) -> None:
        """From here on the commits of this context are guarded, if `guard`."""
        django.install()
        owning.install()
        guarded = Guarded(lease, self._schema, refused, self._ledgers) if guard else None
        here.set(guarded)
        whose.set(guarded)
        if guarded is not None:
            self._runs[lease.id, lease.fence] = guarded
        self._stopping.begin(lease)

    def end(self, lease: Lease) -> None:
        """The run is over, and what it has left open is rolled back."""
        guarded = self._runs.pop((lease.id, lease.fence), None)
        if guarded is not None:
            owning.sweep(guarded)
        self._stopping.end(lease)

    def stop_sql(self, lease: Lease) -> None:
        """Cancel the SQL that the run has under way on direct connections; never waits."""
        self._stopping.stop(lease)

    def guard(self, handle: object, lease: Lease) -> None:
        """Hold the ownership to the end of the transaction of `handle`."""
        must_lead_home(handle, self._ledgers)
        guard_in(handle, self._schema, lease)

    def settle(
        self, handle: object, lease: Lease, end: End, *, last: bool
    ) -> tuple[SettleAnswer, Any]:
        """End the run in the transaction of `handle`; of a session flushed first, if `last`."""
        flush = getattr(handle, "flush", None) if last else None
        if flush is not None:
            flush()
        must_lead_home(handle, self._ledgers)
        answer = settle_in(handle, self._schema, lease, end, last=last)
        return answer, driver_in(handle)

    async def asettle(self, handle: Any, lease: Lease, end: End) -> tuple[SettleAnswer, Any]:
        """The same in an AsyncSession, which is committed next."""
        await handle.run_sync(lambda s: must_lead_home(s, self._ledgers))
        return await asettle(handle, self._schema, lease, end)

    def transaction(self, source: object, kind: Kind) -> AbstractContextManager[Any]:
        """A transaction of a handler's own."""
        return opened(self._ledger() if source is None else source, kind)

    def atransaction(self, source: object) -> AbstractAsyncContextManager[Any]:
        """One of a coroutine's own."""
        return aopened(source)

    def are_one(self, one: object, other: object) -> bool:
        """Whether two handles are of the same connection."""
        mine = driver_in(one)
        return mine is not None and mine is driver_in(other)

    def once(self, handle: object, lease: Lease, key: str) -> bool:
        """Whether this transaction is the first with this key."""
        return once_in(handle, self._schema, lease, key)

    async def aonce(self, handle: object, lease: Lease, key: str) -> bool:
        """The same for coroutines."""
        return await aonce(handle, self._schema, lease, key)

    def outcome(self, lease: Lease) -> Outcome:
        """What became of this claim."""
        return outcome_of(self._ledger(), self._schema, lease)

    def _ledger(self) -> Engine:
        engine = self._engine
        if callable(engine):
            engine = self._engine = engine()
        if engine is None:
            raise BadSetting(
                "This worker knows no engine of the ledger's database.",
                hint="Give run_service or run_child its engine, or job.transaction one of yours.",
            )
        return engine
