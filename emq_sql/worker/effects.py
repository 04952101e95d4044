"""What a run may do in its own transactions, as the worker sees it; the room `effects` does it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, Literal, Protocol

from emq_sql.job import End, Lease, Outcome, SettleAnswer

Kind = Literal["session", "connection", "psycopg"]


class Effects(Protocol):
    """The handler's side of the ledger. Each method may be called from any thread."""

    def begin(self, lease: Lease, refused: Callable[[str], None], *, guard: bool) -> None:
        """In the context of a run, before its handler is called: from here on its commits are
        guarded, if `guard`; `refused(verb)` is called for each that is refused, and must not wait.
        """

    def end(self, lease: Lease) -> None:
        """The run is over, in whichever way; called before it is settled."""

    def stop_sql(self, lease: Lease) -> None:
        """Cancel the SQL that the run has under way here, if it has any; must not wait."""

    def guard(self, handle: object, lease: Lease) -> None:
        """Hold the ownership to the end of the transaction of `handle`; raises LeaseLost."""

    def settle(
        self, handle: object, lease: Lease, end: End, *, last: bool
    ) -> tuple[SettleAnswer, Any]:
        """End the run in the transaction of `handle`, which is committed next if `last`: where that
        brings the job, and the connection as its driver has it. Raises LeaseLost.
        """

    async def asettle(self, handle: object, lease: Lease, end: End) -> tuple[SettleAnswer, Any]:
        """The same in an AsyncSession, which is committed next."""

    def transaction(self, source: object, kind: Kind) -> AbstractContextManager[object]:
        """A session or connection of `source` (None: the ledger's own engine) in a transaction that
        is committed at the end of the block, or rolled back when it raises.
        """

    def atransaction(self, source: object) -> AbstractAsyncContextManager[object]:
        """An AsyncSession of `source` in such a transaction."""

    def are_one(self, one: object, other: object) -> bool:
        """Whether two handles are of the same connection."""

    def once(self, handle: object, lease: Lease, key: str) -> bool:
        """Whether this transaction is the first with this key."""

    async def aonce(self, handle: object, lease: Lease, key: str) -> bool:
        """The same in an AsyncSession or AsyncConnection."""

    def outcome(self, lease: Lease) -> Outcome:
        """What became of this claim, on a connection of its own."""
