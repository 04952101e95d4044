"""A transaction of a handler's own, begun here and committed here, at the end of its block."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine

from emq_sql.effects.committing import committing, ends_with_its_block, is_one_transaction
from emq_sql.effects.current import here
from emq_sql.effects.drivers import Driven
from emq_sql.effects.owning import must_own
from emq_sql.effects.refusing import refusing
from emq_sql.errors import CannotGuard, UnsupportedHandle
from emq_sql.protocol import settling
from emq_sql.protocol.adapt import driver_of
from emq_sql.protocol.troubles import found

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

Kind = Literal["session", "connection", "psycopg"]

log = logging.getLogger("emq_sql.effects")


@contextmanager
def opened(source: object, kind: Kind) -> Iterator[Any]:
    """A Session, a Connection or a psycopg Connection of `source`, an Engine (or, for a Session, a
    sessionmaker), in a transaction that is committed when the block has ended, and rolled back when
    it raises. Nobody else may commit it.

    Raises UnsupportedHandle for a source that is none, Retryable when no connection is to be had,
    and at the commit Ambiguous when its answer was lost.
    """
    if kind == "session":
        with _session(_maker(source)) as session:
            yield session
    elif not isinstance(source, Engine):
        raise _no_source(source)
    elif kind == "connection":
        with _connection(source) as connection:
            yield connection
    elif kind == "psycopg":
        with _psycopg(source) as driver:
            yield driver
    else:
        raise UnsupportedHandle(
            f"A transaction of the kind {kind!r} is none.",
            hint='Give "session", "connection" or "psycopg".',
        )


class CommitLock:
    """The block is one transaction on this connection. Nobody commits on it until `unlock`, through
    whichever session or transaction object: what was written by then is rolled back, and the block
    must not go on. A commit of `session`, whose connection it is, is refused before that, and
    leaves the block whole; the session takes no other connection, nor another transaction.

    A rollback is nobody's to refuse: the transaction is marked, and ends no run without its mark.
    """

    def __init__(self, connection: Connection, session: Session | None = None) -> None:
        self._open = False
        self._early: CannotGuard | None = None
        self._connection = connection
        self._root = connection.get_transaction()
        event.listen(connection, "commit", self._commit)
        if session is not None:
            event.listen(session, "before_commit", self._before_commit)
            event.listen(session, "after_begin", self._after_begin)
        driven = Driven(connection)
        guarded = here.get()
        if guarded is not None:
            with refusing(driven, guarded):
                must_own(driven, guarded)
        driven.tell(settling.MARK)

    def unlock(self) -> None:
        """The block is at its end. Raises CannotGuard when somebody has tried to commit in it, or
        to use a second connection.
        """
        if self._early is not None:  # swallowed, and gone on
            raise self._early
        self._open = True

    def _after_begin(self, _: Session, __: Any, connection: Connection) -> None:
        if connection is self._connection and connection.get_transaction() is self._root:
            return  # a savepoint
        gone = self._root is None or not self._root.is_active
        self._early = is_one_transaction(
            "that was ended within it" if gone else "its session wants a second connection"
        )
        raise self._early

    def _before_commit(self, session: Session) -> None:
        if not (self._open or session.in_nested_transaction()):
            raise ends_with_its_block()

    def _commit(self, connection: Connection) -> None:
        if self._open:
            return
        # Before it raises: else whoever has the connection next would inherit what was written.
        connection.dialect.do_rollback(connection.connection)
        self._early = ends_with_its_block()
        raise self._early


def must_begin(session: Session) -> None:
    """Raise UnsupportedHandle for a session whose commit would be none: it joins a transaction."""
    bind = session.get_bind()
    if isinstance(bind, Connection) and bind.in_transaction():
        raise UnsupportedHandle(
            "The session is in a transaction that was begun outside of the block.",
            hint="Give a sessionmaker of an Engine, or complete the job in that transaction:"
            " job.complete(session), and commit.",
        )


def must_be_plain(session: Any, driver: Any) -> None:
    """Raise UnsupportedHandle for a session that does not commit its work and the end at once."""
    if session.twophase:
        raise UnsupportedHandle(
            "The session commits in two phases.", hint="Give one without twophase=True."
        )
    must_not_autocommit(driver)


def must_not_autocommit(driver: Any) -> None:
    """Raise UnsupportedHandle for a connection whose statements are committed one by one."""
    if getattr(driver, "autocommit", False):
        raise UnsupportedHandle(
            "The connection is in autocommit: each statement would be committed on its own.",
            hint='Give an engine without isolation_level="AUTOCOMMIT", or take kind="psycopg".',
        )


def _maker(source: object) -> Callable[[], Session]:
    from sqlalchemy.orm import Session, sessionmaker  # noqa: PLC0415 - spared to who needs none

    if isinstance(source, Engine):
        return lambda: Session(source)
    if isinstance(source, sessionmaker):
        return source
    raise _no_source(source)


def _no_source(source: object) -> UnsupportedHandle:
    return UnsupportedHandle(
        f"A {type(source).__module__}.{type(source).__qualname__} opens no transaction here.",
        hint="Give a SQLAlchemy Engine, or a sessionmaker for a session (async ones to"
        " job.atransaction), or nothing for the ledger's own.",
    )


@contextmanager
def _session(make: Callable[[], Session]) -> Iterator[Session]:
    session = make()
    driver: Any = None
    try:
        with found():
            must_begin(session)
            connection = session.connection()
            driver = driver_of(connection)
        must_be_plain(session, driver)
        with found():
            lock = CommitLock(connection, session)
        yield session
        lock.unlock()
        with committing(driver):
            session.commit()
    except BaseException:
        _take_back(session, driver)
        raise
    finally:
        session.close()


@contextmanager
def _connection(engine: Engine) -> Iterator[Connection]:
    with found():
        connection = engine.connect()
    driver: Any = None
    try:
        with found():
            driver = driver_of(connection)
        must_not_autocommit(driver)
        connection.begin()
        with found():
            lock = CommitLock(connection)
        yield connection
        lock.unlock()
        with committing(driver):
            connection.commit()
    except BaseException:
        _take_back(connection, driver)
        raise
    finally:
        connection.close()


@contextmanager
def _psycopg(engine: Engine) -> Iterator[psycopg.Connection[Any]]:
    with found():
        pooled = engine.raw_connection()
    driver = pooled.driver_connection
    try:
        if not isinstance(driver, psycopg.Connection):
            raise _no_source(engine)
        if driver.info.transaction_status == TransactionStatus.INTRANS:
            driver.rollback()  # what was asked at the checkout
        transaction = driver.transaction()
        with found():
            transaction.__enter__()
        try:
            with found():
                driver.execute(settling.MARK)
            yield driver
        except BaseException as error:
            transaction.__exit__(type(error), error, error.__traceback__)
            raise  # also a psycopg.Rollback, which would end the block without a word
        with committing(driver):
            transaction.__exit__(None, None, None)
    finally:
        if driver is not None and driver.closed:
            pooled.invalidate()
        pooled.close()


def _take_back(handle: Session | Connection, driver: Any) -> None:
    """Roll it back; a connection that is lost, or will not, is given up."""
    try:
        if driver is None or not driver.closed:
            handle.rollback()
            return
    except Exception as error:  # noqa: BLE001 - the error of the block goes on
        log.debug("a rollback failed: %s", error)
    with suppress(Exception):
        handle.invalidate()
