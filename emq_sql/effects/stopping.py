"""The SQL that a run has under way, and how it is stopped when an operator wants that.

A run is known by the pooled connections that it has checked out, from their checkout to their
return: what SQLAlchemy gives out in the context of a run is that run's.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from contextvars import ContextVar
from typing import Any
from uuid import UUID

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy import event
from sqlalchemy.pool import ConnectionPoolEntry, Pool

from emq_sql.job import Lease
from emq_sql.protocol import sessions

log = logging.getLogger("emq_sql.effects")

LOOKS_FOR = 1.0  # seconds: a run that is between two statements begins another one
LOOKS_EVERY = 0.02

_HOW = "emq_sql.how"  # of a connection, for as long as it lives: one of the three below, or absent
_OUT = "emq_sql.out"  # of a connection that a run has out: its _Out

_DIRECT = "direct"
_POOLED = "it leads through a pooler"
_FOREIGN = "its driver is not psycopg 3"
_UNKNOWN = "it could not be seen whether it is a direct one"


class _Out:
    """One connection that a run has out of its pool. Guarded by the run's lock."""

    __slots__ = ("driver", "how", "run", "stopping")

    def __init__(self, run: RunningSql, driver: Any, how: str) -> None:
        self.run = run
        self.driver = driver
        self.how = how
        self.stopping = False  # a request to cancel is on its way to its session


class RunningSql:
    """What one run has out. Every method may be called from any thread; only `stop` may wait."""

    __slots__ = ("_lease", "_lock", "_out", "_over")

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self._lock = threading.Lock()
        self._out: list[_Out] = []
        self._over = False

    @property
    def _name(self) -> str:
        return f"job {self._lease.id} (attempt {self._lease.attempts})"

    def takes(self, driver: Any, how: str) -> _Out | None:
        """A connection was checked out in the run's context; None when the run is over."""
        with self._lock:
            if self._over:
                return None
            out = _Out(self, driver, how)
            self._out.append(out)
            return out

    def gives_back(self, out: _Out) -> bool:
        """It returns to its pool. False: a request may still reach its session, so nobody else may
        use that.
        """
        with self._lock:
            with contextlib.suppress(ValueError):
                self._out.remove(out)
            return not out.stopping

    def end(self) -> None:
        """The run is over: whatever it has left out is nobody's."""
        with self._lock:
            self._over = True
            self._out.clear()

    def stop(self) -> None:
        """Cancel the statements that it runs now, or the first one that it is seen to run within a
        second.
        """
        until = time.monotonic() + LOOKS_FOR
        while not (found := self._busy()):
            if self._over or time.monotonic() >= until:
                log.info("%s runs no SQL that could be cancelled", self._name)
                return
            time.sleep(LOOKS_EVERY)
        for out in found:
            self._stop(out)

    def _busy(self) -> list[_Out]:
        with self._lock:
            found = [o for o in self._out if o.how == _FOREIGN or sessions.runs_statement(o.driver)]
            for out in found:
                out.stopping = out.how == _DIRECT
            return found

    def _stop(self, out: _Out) -> None:
        if not out.stopping:
            log.warning("the SQL of %s cannot be cancelled: %s", self._name, out.how)
            return
        try:
            sessions.cancel_statement(out.driver)
        except psycopg.Error as error:
            log.warning("the SQL of %s could not be cancelled: %s", self._name, error)
        else:
            log.info("the statement that %s ran is cancelled", self._name)
        finally:
            with self._lock:
                out.stopping = False


class Stopping:
    """The runs of this process, as far as their SQL is concerned. May be used from any thread."""

    def __init__(self) -> None:
        _listen()
        self._runs: dict[tuple[UUID, int], RunningSql] = {}

    def begin(self, lease: Lease) -> None:
        """A run begins in this context."""
        run = RunningSql(lease)
        self._runs[lease.id, lease.fence] = run
        _running.set(run)

    def end(self, lease: Lease) -> None:
        """It is over."""
        run = self._runs.pop((lease.id, lease.fence), None)
        if run is not None:
            run.end()

    def stop(self, lease: Lease) -> None:
        """Cancel the SQL of this run, if there is any here; never waits."""
        run = self._runs.get((lease.id, lease.fence))
        if run is not None:
            threading.Thread(target=run.stop, name="emq-stop-sql", daemon=True).start()


_running: ContextVar[RunningSql | None] = ContextVar("emq_sql_running_sql", default=None)


def _listen() -> None:
    if not event.contains(Pool, "checkout", _checked_out):
        event.listen(Pool, "checkout", _checked_out)
        event.listen(Pool, "checkin", _checked_in)


def _checked_out(connection: Any, record: ConnectionPoolEntry, _proxy: object) -> None:
    run = _running.get()
    if run is None:
        return
    driver = record.driver_connection
    how = record.info.get(_HOW)
    if how is None and _may_be_looked_at(driver):
        how = record.info[_HOW] = _looked_at(connection, driver)
    out = run.takes(driver, how or _UNKNOWN)
    if out is not None:
        record.info[_OUT] = out


def _checked_in(_connection: object, record: ConnectionPoolEntry) -> None:
    out: _Out | None = record.info.pop(_OUT, None)
    if out is not None and not out.run.gives_back(out):
        record.invalidate(soft=True)  # closed, and made anew for who needs one next


def _may_be_looked_at(driver: Any) -> bool:
    """Not in a transaction that is open: of a pool that has one connection for all, or of somebody
    who begins it when a connection is made. What is in there is not ours to commit or to roll back.
    """
    info = getattr(driver, "info", None)
    return info is None or info.transaction_status == TransactionStatus.IDLE


def _looked_at(connection: Any, driver: Any) -> str:
    """How this connection, which is fresh or idle, leads to its backend; a direct one ends with its
    client from here on. Nothing is raised, and no transaction is left open.
    """
    if not isinstance(driver, psycopg.Connection | psycopg.AsyncConnection):
        return _FOREIGN
    how = _UNKNOWN
    try:
        cursor = connection.cursor()
        try:
            how = _DIRECT if sessions.is_direct(cursor, driver) else _POOLED
            if how == _DIRECT:
                sessions.end_with_client(cursor)
            connection.commit()
        finally:
            cursor.close()
    except Exception as error:  # noqa: BLE001 - whatever it is, the handler will meet it as well
        log.debug("a connection of a run could not be looked at: %s", error)
        with contextlib.suppress(Exception):
            connection.rollback()
    return how
