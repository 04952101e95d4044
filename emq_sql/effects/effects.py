"""What a run may do in its own transactions, for the handlers of one worker or one child of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Literal

from sqlalchemy.engine import Engine

from emq_sql.effects.completion import complete_in
from emq_sql.effects.current import Guarded, here
from emq_sql.effects.stopping import Stopping
from emq_sql.job import Lease, Outcome


class DatabaseEffects:
    """The worker's `Effects`, in the ledger of this schema.

    `engine`, or what gives it when it is first needed, is the ledger's database: for `transaction`
    and `outcome` alone.
    """

    def __init__(self, schema: str, engine: Engine | Callable[[], Engine] | None = None) -> None:
        self._schema = schema
        self._engine = engine
        self._stopping = Stopping()

    def begin(self, lease: Lease, refused: Callable[[str], None], *, guard: bool) -> None:
        """From here on the commits of this context are guarded, if `guard`."""
        here.set(Guarded(lease, self._schema, refused) if guard else None)
        self._stopping.begin(lease)

    def end(self, lease: Lease) -> None:
        """The run is over."""
        self._stopping.end(lease)

    def stop_sql(self, lease: Lease) -> None:
        """Cancel the SQL that the run has under way on direct connections; never waits."""
        self._stopping.stop(lease)

    def guard(self, handle: object, lease: Lease) -> None:
        """Hold the ownership to the end of the transaction of `handle`."""
        raise NotImplementedError

    def complete(self, handle: object, lease: Lease, result: object) -> None:
        """Complete in the transaction of `handle`."""
        complete_in(handle, self._schema, lease, result)

    def put_back(self, handle: object, lease: Lease, ending: object) -> None:
        """Retry or snooze in the transaction of `handle`."""
        raise NotImplementedError

    def transaction(
        self, source: object, kind: Literal["session", "connection", "psycopg"]
    ) -> AbstractContextManager[object]:
        """A transaction of a handler's own."""
        raise NotImplementedError

    def once(self, handle: object, lease: Lease, key: str) -> bool:
        """Whether this transaction is the first with this key."""
        raise NotImplementedError

    def outcome(self, lease: Lease) -> Outcome:
        """What became of this claim."""
        raise NotImplementedError
