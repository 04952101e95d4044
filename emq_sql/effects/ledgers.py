"""Which databases are the ledger's: that of the jobs which this process runs."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from time import monotonic

from sqlalchemy.engine import Engine

from emq_sql.errors import CannotGuard, DatabaseTrouble
from emq_sql.protocol import connecting, guarding
from emq_sql.protocol.guarding import Ask, Sight, asked_in

KNOWN_FOR = 60.0  # seconds: an address may lead elsewhere by then, a ledger may be adopted


class Ledgers:
    """Recognises the ledger's database, from whichever engine and under whichever address.

    It is the one that shows the same ledger id as `engine` does in that schema, or is the same
    database of the same server. Without an engine any ledger in a schema of that name is taken for
    it. Asked once a minute for each address, and in no way that could fail.
    """

    __slots__ = ("_engine", "_home", "_known", "_schema")

    def __init__(self, schema: str, engine: Engine | Callable[[], Engine] | None = None) -> None:
        self._schema = schema
        self._engine = engine
        self._home: tuple[Sight, float] | None = None
        self._known: dict[Hashable, tuple[bool, float]] = {}

    def held_at(self, address: Hashable, ask: Ask, *, autocommit: bool = False) -> bool:
        """Whether what is written there must be guarded.

        Raises CannotGuard when it must, and cannot be: the role may not use the guard, or it is not
        there (any more). A transaction that wrote nothing passes, unless each of its statements
        commits by itself.
        """
        if (known := self._found(address)) is not None:
            return known
        sight, ours = self._seen(address, ask)
        if ours and sight.standing != "open":
            if sight.wrote or autocommit:
                raise self._cannot(sight)
            return False
        return ours

    def is_known(self, address: Hashable) -> bool:
        """Whether it is the ledger's database, and `held_at` need not ask."""
        return bool(self._found(address))

    def leads_home(self, address: Hashable, ask: Ask) -> bool:
        """Whether it is the ledger's database, whatever the role may do there."""
        known = self._found(address)
        return self._seen(address, ask)[1] if known is None else known

    def _found(self, address: Hashable) -> bool | None:
        """What was found out within the last minute."""
        known = self._known.get(address)
        return known[0] if known is not None and monotonic() < known[1] else None

    def _seen(self, address: Hashable, ask: Ask) -> tuple[Sight, bool]:
        sight = guarding.look(ask, self._schema)
        ours = self._is_home(sight)
        if not ours or sight.standing == "open":
            self._keep(address, ours)
        return sight, ours

    def _keep(self, address: Hashable, ours: bool) -> None:
        now = monotonic()
        for old, (_, until) in list(self._known.items()):
            if until <= now:
                self._known.pop(old, None)
        self._known[address] = ours, now + KNOWN_FOR

    def _is_home(self, sight: Sight) -> bool:
        if self._engine is None:
            return sight.standing != "none"
        # What differs from an old look may have changed since: it is looked at anew.
        return any(_same(sight, self._look_home(newly)) for newly in (False, True))

    def _look_home(self, newly: bool) -> Sight:
        home = self._home
        if home is not None and (not newly or monotonic() - home[1] < KNOWN_FOR):
            return home[0]
        assert self._engine is not None
        engine = self._engine if isinstance(self._engine, Engine) else self._engine()
        try:
            # No connection of the pool: the handler that waits here may have the last one.
            connection = connecting.dedicated(engine)
        except DatabaseTrouble:
            if home is None:
                raise
            return home[0]
        try:
            sight = guarding.look(asked_in(connection), self._schema)
        finally:
            connection.close()
        self._home = sight, monotonic()
        return sight

    def _cannot(self, sight: Sight) -> CannotGuard:
        if sight.standing == "closed":
            return CannotGuard(
                f'The role "{sight.role}" may not execute {self._schema}.guard_commit, and what it'
                " writes into the ledger's database in a job cannot be guarded.",
                hint="Grant it emq_producer or emq_worker, or set guard=False for the task.",
            )
        return CannotGuard(
            f"The ledger in the schema {self._schema} has no guard for commits (any more).",
            hint="Run: emq schema upgrade.",
        )


def _same(sight: Sight, home: Sight) -> bool:
    return sight.place == home.place or (sight.ledger is not None and sight.ledger == home.ledger)
