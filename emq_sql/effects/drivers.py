"""The driver's connection under one of SQLAlchemy's: psycopg, asyncpg and psycopg2 alike."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import psycopg
from psycopg.pq import DiagnosticField, ExecStatus, PipelineStatus, TransactionStatus
from sqlalchemy import exc
from sqlalchemy.engine import Connection

from emq_sql.protocol.guarding import spelled

_ADDRESS = "emq_sql.address"
_DONE = (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK)
# A transaction that has failed is rolled back by its COMMIT.
_NOTHING = (TransactionStatus.IDLE, TransactionStatus.INERROR)


class Driven:
    """What the guard needs of it. Asked through the cursor of the pool's connection, so that an
    asynchronous driver is waited for as SQLAlchemy does it; none of the application's listeners
    hears of it.
    """

    __slots__ = ("_connection", "_pooled", "driver")

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._pooled = connection.connection
        self.driver: Any = self._pooled.driver_connection

    @property
    def autocommit(self) -> bool:
        """Whether each statement is committed by itself."""
        return bool(getattr(self._pooled.dbapi_connection, "autocommit", False))

    @property
    def takes_two(self) -> bool:
        """Whether two statements can be sent as one text, of which the second is the COMMIT: by
        psycopg, outside of its own transaction blocks and pipelines.
        """
        driver = self.driver
        return (
            isinstance(driver, psycopg.Connection)
            and not getattr(driver, "_num_transactions", 1)
            and driver.pgconn.pipeline_status == PipelineStatus.OFF
        )

    @property
    def has_nothing_to_commit(self) -> bool:
        """Whether nothing was sent in a transaction, or it has failed."""
        return has_nothing_to_commit(self.driver)

    @property
    def info(self) -> dict[Any, Any]:
        """What is known of the driver's connection, for as long as it lives."""
        return self._pooled.info

    @property
    def address(self) -> Hashable:
        """Where it leads, and as whom; of a driver that does not say it, the connection itself."""
        return address_in(self.info, self.driver)

    def ask(self, statement: str, *arguments: str | int) -> Any:
        """The only value that the statement answers."""
        cursor = self._pooled.cursor()
        try:
            if self._connection.dialect.paramstyle == "numeric_dollar":
                cursor.execute(statement, arguments)
            else:
                text, values = spelled(statement, arguments)
                cursor.execute(text, values or None)
            return _only(cursor.fetchone())
        finally:
            cursor.close()

    def tell(self, statement: str) -> None:
        """A statement that answers nothing."""
        cursor = self._pooled.cursor()
        try:
            cursor.execute(statement)
        finally:
            cursor.close()

    def end_with(self, text: str) -> None:
        """Send what ends the transaction, where `takes_two`. Waited for in libpq: each job pays it,
        and a cursor takes twice the CPU. Until it is answered no signal is handled in this thread.
        """
        driver = self.driver
        with driver.lock:
            result = driver.pgconn.exec_(text.encode())
        if result.status in _DONE:
            return
        if result.error_field(DiagnosticField.SQLSTATE) is None:
            raise psycopg.OperationalError(result.get_error_message(driver.info.encoding))
        raise psycopg.errors.error_from_result(result, driver.info.encoding)

    def roll_back(self, error: BaseException) -> bool:
        """Leave nothing of the transaction: it is rolled back, or (False) the connection closed.

        After a commit that was not to be SQLAlchemy sends no ROLLBACK, nor does the pool.
        """
        try:
            # What is no Exception may have come at any point.
            if isinstance(error, Exception) and not self._is_lost(error):
                self._connection.dialect.do_rollback(self._pooled)
                return True
        except Exception:  # noqa: BLE001, S110 - the connection is lost, or in use
            pass
        except BaseException:
            self._connection.invalidate(error)
            raise
        self._connection.invalidate(error)
        return False

    def _is_lost(self, error: Exception) -> bool:
        dialect = self._connection.dialect
        if not isinstance(error, dialect.loaded_dbapi.Error):
            return False
        return dialect.is_disconnect(error, self._pooled.dbapi_connection, None)

    def as_raised(self, error: Exception) -> Exception:
        """The error as SQLAlchemy raises it."""
        dialect = self._connection.dialect
        base = dialect.loaded_dbapi.Error
        if not isinstance(error, base):
            return error
        return exc.DBAPIError.instance(
            None, None, error, base, dialect=dialect,
            hide_parameters=self._connection.engine.hide_parameters,
            connection_invalidated=self._connection.invalidated,
        )  # fmt: skip


def has_nothing_to_commit(driver: Any) -> bool:
    """Whether nothing was sent in a transaction on it, or that has failed."""
    pgconn = getattr(driver, "pgconn", None)  # psycopg, at a tenth of what its `info` takes
    if pgconn is not None:
        return pgconn.transaction_status in _NOTHING
    info = getattr(driver, "info", None)
    if info is not None:
        return info.transaction_status in _NOTHING
    begun = getattr(driver, "is_in_transaction", None)  # asyncpg
    return begun is not None and not begun()


def address_in(info: dict[Any, Any], driver: Any) -> Hashable:
    """`address_of`, found out once for each connection."""
    known: Hashable = info.get(_ADDRESS)
    if known is None:
        known = info[_ADDRESS] = address_of(driver)
    return known


def address_of(driver: Any) -> Hashable:
    """Where a driver's connection leads, and as whom; new each time if it does not say it."""
    info = getattr(driver, "info", None)
    if info is None:
        return object()
    hostaddr = getattr(info, "hostaddr", None)
    return info.host, hostaddr, info.port, info.dbname, info.user


def _only(row: Any) -> Any:
    # Whatever rows the application's connections make.
    if row is None or isinstance(row, str):
        return row
    return next(iter(row.values())) if isinstance(row, Mapping) else row[0]
