"""The producers' end of the bell: who waits for a queue is woken after the commit of an enqueue."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import closing

from sqlalchemy.engine import Engine
from sqlalchemy.pool import NullPool, QueuePool

from emq_sql.errors import BadSetting
from emq_sql.protocol import bell, connecting
from emq_sql.protocol.adapt import connection_of
from emq_sql.protocol.commits import at_commit
from emq_sql.protocol.silence import CallLimit
from emq_sql.ringer import Ringer

LIMIT = 5.0  # seconds for one ring; a hint that comes later is worth nothing


class Doorbell:
    """Rings on a connection that is borrowed for a moment from the application's own pool.

    The pool is that of `engine()`, or, while that raises BadSetting, that of the session which was
    enqueued into. In a pool that shares one connection (StaticPool) or forbids a second one
    (AssertionPool) nothing is rung.
    """

    def __init__(self, engine: Callable[[], Engine], schema: str) -> None:
        self._engine = engine
        self._schema = schema
        self._others: Engine | None = None
        self._ringer = Ringer(self._ring)

    def added(self, queues: Collection[str], session: object | None) -> None:
        """Jobs were added to these queues, in the transaction of `session` or else committed."""
        if not queues:
            return
        if session is None:
            self._ringer.ring(queues)
        elif at_commit(session, queues, self._ringer.ring):
            connection = connection_of(session)
            lends = (
                connection is not None and not connection.dialect.is_async
            )  # to a thread of ours
            self._others = connection.engine if connection is not None and lends else None

    def ring(self, queues: Collection[str]) -> None:
        """Ring for these queues, soon and from another thread."""
        self._ringer.ring(queues)

    def flush(self, seconds: float) -> bool:
        """Wait until all that was added has been rung for, at most so long; whether it has."""
        return self._ringer.flush(seconds)

    def _ring(self, queues: list[str]) -> None:
        try:
            engine = self._engine()
        except BadSetting:
            if self._others is None:
                raise
            engine = self._others
        if isinstance(engine.pool, (QueuePool, NullPool)):
            with connecting.borrowed(engine) as conn, closing(CallLimit(conn)) as calls:
                calls.begin(LIMIT)
                bell.ring_parked(conn, self._schema, queues)
