"""Transactions of a handler's own in which its run ends: they and that are committed as one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from emq_sql.crashpoints import crash_point
from emq_sql.errors import BadSetting, JobFinished, LeaseLost
from emq_sql.job import End, SettleAnswer
from emq_sql.rules.payload import storable_result
from emq_sql.worker.effects import Effects, Kind
from emq_sql.worker.grip import Grip
from emq_sql.worker.standing import must_be_open

NOTHING = End("complete")


class Block:
    """One `job.transaction` block that is open, and how the run is to end with it."""

    __slots__ = ("end", "handle")

    def __init__(self, handle: object) -> None:
        self.handle = handle
        self.end: End | None = None


class Transactions:
    """Those of one run; at most one block is open at a time, since a run ends once."""

    __slots__ = ("_effects", "_grip", "block")

    def __init__(self, grip: Grip, effects: Effects) -> None:
        self._grip = grip
        self._effects = effects
        self.block: Block | None = None

    @contextmanager
    def opened(self, source: object, kind: Kind) -> Iterator[Any]:
        """See `Job.transaction`."""
        must_be_open(self._grip)
        self._must_be_free()
        try:
            with self._effects.transaction(source, kind) as handle:
                block = self.block = Block(handle)
                yield handle
                answer = self.settle(handle, block.end or NOTHING, last=True)
        finally:
            self.block = None
        self._grip.settled(answer)

    @asynccontextmanager
    async def aopened(self, source: object) -> AsyncIterator[Any]:
        """See `Job.atransaction`."""
        must_be_open(self._grip)
        self._must_be_free()
        try:
            async with self._effects.atransaction(source) as handle:
                block = self.block = Block(handle)
                yield handle
                answer = await self._asettle(handle, block.end or NOTHING)
        finally:
            self.block = None
        self._grip.settled(answer)

    def end(self, handle: object, end: End) -> None:
        """End the run so with the block, if `handle` is its own (None is), else in the transaction
        of `handle`, at once.
        """
        block = self.block
        if block is not None and (handle is None or self._is_of(handle, block)):
            block.end = end
        else:
            self.settle(handle, end)

    def returned(self, value: object) -> None:
        """What the handler of the whole block returned is the result, if it chose no other end."""
        if self.block is not None and self.block.end is None:
            self.block.end = End("complete", storable_result(value))

    def settle(self, handle: object, end: End, *, last: bool = False) -> SettleAnswer:
        """End the run in the transaction of `handle`; it is not committed."""
        crash_point("before-complete")
        self._grip.take()
        try:
            answer, driver = self._effects.settle(handle, self._grip.claimed.lease, end, last=last)
            self._grip.completed(driver, end.verb)
        except LeaseLost as error:
            self._refused(error, end)
            raise
        finally:
            self._grip.put_down()
        return answer

    async def _asettle(self, handle: object, end: End) -> SettleAnswer:
        crash_point("before-complete")
        await asyncio.to_thread(self._grip.take)  # the keeper may be at it
        try:
            answer, driver = await self._effects.asettle(handle, self._grip.claimed.lease, end)
            self._grip.completed(driver, end.verb)
        except LeaseLost as error:
            self._refused(error, end)
            raise
        finally:
            self._grip.put_down()
        return answer

    def _refused(self, error: LeaseLost, end: End) -> None:
        self._grip.note_refusal(end.verb)
        if not isinstance(error, JobFinished):  # which is no loss
            self._grip.was_refused()

    def _must_be_free(self) -> None:
        if self.block is not None:
            raise BadSetting(
                f"A transaction that ends job {self._grip.claimed.lease.id} is open already.",
                hint="A run ends once: use the session of that block.",
            )

    def _is_of(self, handle: object, block: Block) -> bool:
        return handle is block.handle or self._effects.are_one(handle, block.handle)
