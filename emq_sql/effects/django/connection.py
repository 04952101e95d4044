"""The driver's connection under one of Django's: psycopg and psycopg2 alike."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from psycopg.pq import TransactionStatus

from emq_sql.effects.drivers import address_of
from emq_sql.protocol import autocommit, guarding


class Driven:
    """The driver's connection under one of Django's. Django hears nothing of what it is asked."""

    __slots__ = ("_wrapper", "driver")

    def __init__(self, wrapper: Any) -> None:
        self._wrapper = wrapper
        self.driver: Any = wrapper.connection

    @property
    def idle(self) -> bool:
        """Whether no transaction is open."""
        return self._status == TransactionStatus.IDLE

    @property
    def has_nothing_to_commit(self) -> bool:
        """Whether nothing was sent in a transaction, or it has failed."""
        return self._status in (TransactionStatus.IDLE, TransactionStatus.INERROR)

    @property
    def autocommit(self) -> bool:
        """Whether each statement is committed by itself."""
        return bool(self.driver.autocommit)

    @property
    def version(self) -> int:
        """The server's: 160004 is 16.4."""
        version: int = self.driver.info.server_version
        return version

    @property
    def _status(self) -> int:
        status: int = self.driver.info.transaction_status
        return status

    @property
    def address(self) -> Hashable:
        """Where it leads, and as whom."""
        return address_of(self.driver)

    def ask(self, statement: str, *arguments: str | int) -> Any:
        """The only value that the statement answers, if it answers any."""
        with self.driver.cursor() as cursor:
            text, values = guarding.spelled(statement, arguments)
            cursor.execute(text, values or None)
            row = cursor.fetchone() if cursor.description else None
        return row and row[0]

    def roll_back(self, error: BaseException) -> bool:
        """Leave nothing of the transaction, nor of what was to happen at its commit."""
        try:
            if isinstance(error, Exception):
                if self.autocommit:
                    if not self.idle:
                        self.ask(autocommit.ROLLBACK)
                else:
                    self._wrapper.rollback()
                return True
        except Exception:  # noqa: BLE001, S110 - the connection is lost, or in use
            pass
        self._wrapper.close()
        return False

    def as_raised(self, error: Exception) -> Exception:
        """The error as Django raises it."""
        try:
            with self._wrapper.wrap_database_errors:
                raise error
        except Exception as wrapped:  # noqa: BLE001 - it is the one to raise
            return wrapped
