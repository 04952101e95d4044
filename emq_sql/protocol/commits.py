"""Knows when a caller's SQLAlchemy transaction is committed, and never touches it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable

from sqlalchemy import event
from sqlalchemy.engine import Connection
from sqlalchemy.engine.base import RootTransaction

from emq_sql.protocol.adapt import connection_of

Over = Callable[[], bool]
Then = Callable[[frozenset[str], Over], None]


def at_commit(handle: object, names: Iterable[str], then: Then) -> bool:
    """When the transaction of a Session or Connection commits, call `then(names, over)`, once.

    It is the transaction of the connection that counts: the end of a savepoint, or of a Session in
    somebody else's transaction, is no commit, and a rollback forgets the names. `then` is called on
    the committing thread just before COMMIT is sent, which is all that SQLAlchemy tells: it must
    not raise or wait. `over()` says from any thread whether the commit has ended. Answers False for
    a handle of whose commits nobody tells: a psycopg Connection. Nor are two-phase commits told.
    """
    connection = connection_of(handle)
    transaction = None if connection is None else connection.get_transaction()
    if connection is None or transaction is None:
        return False
    noted = _noted.get(connection)
    if noted is None:
        noted = _noted[connection] = _Noted()
        event.listen(connection, "commit", noted.commit)
    noted.add(transaction, names, then)
    return True


class _Noted:
    """What is to be told when one Connection commits. Keeps neither it nor a transaction alive."""

    def __init__(self) -> None:
        self._transaction: Callable[[], RootTransaction | None] = lambda: None
        self._names: dict[Then, set[str]] = {}

    def add(self, transaction: RootTransaction, names: Iterable[str], then: Then) -> None:
        if self._transaction() is not transaction:  # the former one was rolled back
            self._transaction = weakref.ref(transaction)
            self._names = {}
        self._names.setdefault(then, set()).update(names)

    def commit(self, connection: Connection) -> None:
        transaction = connection.get_transaction()
        told, self._names = self._names, {}
        if transaction is None or self._transaction() is not transaction:
            return
        for then, names in told.items():
            then(frozenset(names), lambda: not transaction.is_active)


_noted: weakref.WeakKeyDictionary[Connection, _Noted] = weakref.WeakKeyDictionary()
