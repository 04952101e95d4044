"""A connection for commands: each of its statements is answered in time, or ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen

from emq_sql.protocol.silence import CallLimit

RV = TypeVar("RV")

WHOLE_DAY = 900.0  # seconds for what goes through a day of the archive at once

_NEVER = float("inf")
_CUT = 1.0  # seconds in which a server that is there has heard of an interruption


class NoAnswer(psycopg.OperationalError):
    """A statement was ended because it was past its limit.

    `undone` says that it is known to have done nothing: the server has cancelled it, or it was
    never sent.
    """

    def __init__(self, what: str, *, undone: bool) -> None:
        super().__init__(what)
        self.undone = undone


class BoundedConnection(psycopg.Connection[Any]):
    """Raises NoAnswer for a statement that takes longer than `bound` or `within` has said.

    It is cancelled on the server first; when not even that is answered the connection is closed,
    and every later statement raises NoAnswer at once. Before `bound` nothing is limited. For one
    thread; the properties, `hurry` and `interrupt` are for any, and for signal handlers.
    """

    # psycopg makes its connections itself, so there is no __init__ of ours.
    _calls: CallLimit | None = None
    _limit = _NEVER
    _given_up: NoAnswer | None = None
    _hurried = _interrupted = False
    _statements = 0

    def bound(self, seconds: float) -> None:
        """From now on a statement, and what else is asked of the server, may take so long."""
        self._limit = seconds
        self._calls = CallLimit(self)

    @contextmanager
    def within(self, seconds: float | None) -> Iterator[None]:
        """In this block it is another number of seconds; None: as long as it takes."""
        former, self._limit = self._limit, _NEVER if seconds is None else seconds
        try:
            yield
        finally:
            self._limit = former

    @property
    def limit(self) -> float:
        """Seconds that a statement may take."""
        return self._limit

    @property
    def waiting(self) -> tuple[int, float]:
        """The number of the statement under way, and for how many seconds; 0 s: there is none."""
        return self._statements, 0.0 if self._calls is None else self._calls.waits

    def hurry(self, seconds: float) -> None:
        """The statement under way, if there is one, ends within so many seconds; when it has to be
        broken off for that it raises KeyboardInterrupt.
        """
        if (calls := self._calls) is not None and calls.waits:
            self._hurried = True
            calls.shorten(calls.waits + seconds)

    def interrupt(self) -> bool:
        """Break off the statement under way: it raises KeyboardInterrupt. False: there is none."""
        calls = self._calls
        if calls is None or not calls.waits:
            return False
        self._interrupted = True
        calls.cut(_CUT)
        return True

    def wait(self, gen: PQGen[RV], *args: Any, **kwargs: Any) -> RV:
        """psycopg's own, bounded: whatever is asked of the server is waited for here."""
        calls = self._calls
        if calls is None:
            return super().wait(gen, *args, **kwargs)
        if self._given_up is not None:
            raise NoAnswer(str(self._given_up), undone=True)
        self._statements += 1
        self._hurried = self._interrupted = False
        limit = self._limit
        calls.begin(limit)
        try:
            answer = super().wait(gen, *args, **kwargs)
        except psycopg.Error as error:
            if self._interrupted or (self._hurried and calls.over):
                raise KeyboardInterrupt from error
            if not calls.over:
                raise
            told = _no_answer(error, limit)
            self._given_up = told if self.closed else None
            raise told from error
        finally:
            calls.end()
        if self._interrupted:
            raise KeyboardInterrupt
        if calls.over:
            calls.settle()
        return answer

    def close(self) -> None:
        """Close it, whether it answers or not."""
        super().close()
        if self._calls is not None:
            self._calls.close()


@contextmanager
def longer(conn: psycopg.Connection[Any], seconds: float | None) -> Iterator[None]:
    """In this block a statement may take so long even where the connection is bounded to less."""
    if not isinstance(conn, BoundedConnection):
        yield
        return
    with conn.within(None if seconds is None else max(seconds, conn.limit)):
        yield


def _no_answer(error: psycopg.Error, limit: float) -> NoAnswer:
    if isinstance(error, psycopg.errors.QueryCanceled):
        what = "it was cancelled, and nothing was done"
        return NoAnswer(f"No answer within {limit:g} s: {what}.", undone=True)
    what = "nor to a cancellation: the connection was given up"
    return NoAnswer(f"No answer within {limit:g} s, {what}.", undone=False)
