"""Which job runs here, as far as commits are concerned: set around each run, read by the hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet, ref

from sqlalchemy.engine import Connection, Transaction

from emq_sql.effects.ledgers import Ledgers
from emq_sql.job import Lease

_MANY = 100  # sessions and connections of one run, of which most are gone


@dataclass(slots=True, eq=False)
class Guarded:
    """One run whose commits are guarded.

    `refused(verb)` is called when a commit (`guard`) or a completion was refused, from any thread,
    and must not wait. `settling` are the driver connections whose open transaction has settled the
    job and is about to be committed by emq_sql itself: the hook lets that one commit pass unasked.
    `asked` are the transactions that were asked about and are about to be committed: what a
    listener of the application's still writes in one of them is guarded on its own. `begun` are the
    sessions (with their connections) and connections that have begun a transaction in this run.
    """

    lease: Lease
    schema: str
    refused: Callable[[str], None]
    ledgers: Ledgers
    # Made when they are needed: most runs need none of the first two, and each run pays for them.
    _settling: WeakSet[Any] | None = None
    _asked: WeakSet[Transaction] | None = None
    _begun: dict[ref[Any], ref[Connection] | None] | None = None

    @property
    def settling(self) -> WeakSet[Any]:
        """See above."""
        if self._settling is None:
            self._settling = WeakSet()
        return self._settling

    def is_settling(self, driver: object) -> bool:
        """Whether it is in `settling`."""
        return self._settling is not None and driver in self._settling

    @property
    def asked(self) -> WeakSet[Transaction]:
        """See above."""
        if self._asked is None:
            self._asked = WeakSet()
        return self._asked

    def has_asked(self, transaction: Transaction | None) -> bool:
        """Whether it is in `asked`."""
        return self._asked is not None and transaction in self._asked

    def begun(self) -> list[tuple[Any, Connection | None]]:
        """See above; what is no longer there has nothing open."""
        if self._begun is None:
            return []
        begun = list(self._begun.items())
        found = [(of(), None if its is None else its()) for of, its in begun]
        return [(thing, connection) for thing, connection in found if thing is not None]

    def begins(self, thing: object, connection: Connection | None = None) -> None:
        """Add to `begun`."""
        begun = self._begun
        if begun is None:
            begun = self._begun = {}
        elif len(begun) > _MANY:
            begun = self._begun = {of: its for of, its in list(begun.items()) if of() is not None}
        begun[ref(thing)] = None if connection is None else ref(connection)


# Tasks that a coroutine makes and `asyncio.to_thread` inherit it; a thread made by hand does not.
here: ContextVar[Guarded | None] = ContextVar("emq_sql_guarded", default=None)
# The same, within `unguarded` too.
whose: ContextVar[Guarded | None] = ContextVar("emq_sql_whose", default=None)


@contextmanager
def unguarded() -> Iterator[None]:
    """Inside the block commits of this context are not guarded: what is written there stands even
    if the job is lost. For a log of attempts, say.
    """
    token = here.set(None)
    try:
        yield
    finally:
        here.reset(token)
