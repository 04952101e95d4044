"""Proves that what the worker's main connection rings is heard on the one that listens."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from time import monotonic
from typing import Any

import psycopg

from emq_sql.protocol import bell, upkeep

WITHIN = 2.0  # seconds from the end of the NOTIFY until it must have been heard
EVERY = 60.0  # seconds without any ring after which the silence is looked into
AGAIN = 10.0  # seconds to wait for the main connection before it is asked anew

Errand = Callable[[Callable[[psycopg.Connection[Any]], None]], None]

_ELSEWHERE = "Give workers a DSN that leads straight to the server: --listen-dsn, EMQ_LISTEN_DSN."


class Proof:
    """One ring of our own at a time, by a name that no queue can have.

    `errand(do)` has `do(connection)` called soon, once, on a main connection and in the thread that
    owns it; `woken` is called there afterwards.
    """

    def __init__(self, errand: Errand, schema: str, woken: Callable[[], None]) -> None:
        self._errand = errand
        self._schema = schema
        self._woken = woken
        self._main: bell.Seen | None = None
        self._token: str | None = None
        self._sent: float | None = None
        self._begun = self._alive = 0.0

    def begin(self, now: float) -> None:
        """Ask for a ring."""
        self._token, self._sent, self._begun = f"?{secrets.token_hex(8)}", None, now
        self._errand(self._ring)

    def come(self, rung: str, now: float) -> bool:
        """This was rung for: true when it is our own ring, and everything works."""
        self._alive = now
        if rung != self._token:
            return False
        self._token = None
        return True

    def look(self, now: float) -> bool:
        """Ask for a ring when that is due; false when one was not heard in time."""
        if self._token is None:
            if self._alive + EVERY <= now:
                self.begin(now)
        elif self._sent is None:
            if self._begun + AGAIN <= now:
                self.begin(now)
        elif self._sent + WITHIN <= now:
            return False
        return True

    @property
    def due(self) -> float:
        """When to look again, at the latest."""
        if self._token is None:
            return self._alive + EVERY
        return self._begun + AGAIN if self._sent is None else self._sent + WITHIN

    def why_not(self, conn: psycopg.Connection[Any]) -> str:
        """What is wrong with the listening connection, as far as it can be seen, and what to do."""
        mine = bell.seen(conn, self._schema)
        if mine.pooled:
            return f"A pooler is in front of the server, in transaction mode it seems. {_ELSEWHERE}"
        main = self._main
        if main is None or (mine.server, mine.number) == (main.server, main.number):
            return "Nothing else is wrong with either connection."
        its = "no ledger" if mine.ledger is None else "another ledger"
        if mine.ledger == main.ledger:
            its = "a copy of the ledger"
        where = "of the same server" if mine.server == main.server else "of the main one's server"
        elsewhere = "" if mine.server == main.server else " of another server"
        return (
            f'It leads to the database "{mine.database}"{elsewhere}, which has {its} in the schema'
            f' "{self._schema}". Name the database "{main.database}" {where}.'
        )

    def _ring(self, conn: psycopg.Connection[Any]) -> None:
        self._main = bell.seen(conn, self._schema)  # anew: the server may be another one by now
        upkeep.ring(conn, self._schema, self._token or "?")
        self._sent = monotonic()
        self._woken()
