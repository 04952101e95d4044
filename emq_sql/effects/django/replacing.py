"""Every commit of Django's in a run's context is guarded, and what cannot be is refused.

`atomic` and `connection.commit()` commit in one place, and statements outside of `atomic` are run
in one: both are replaced in Django's own classes, so that the connections of all threads and all
aliases are met, those that are open and those to come. Django is not imported here: its classes are
taken when the application has loaded them.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from emq_sql.effects.current import Guarded, here
from emq_sql.effects.django.alone import (
    at_once,
    declared,
    in_transaction,
    is_alone,
    refuse_if_held,
)
from emq_sql.effects.django.connection import Driven
from emq_sql.effects.django.texts import beginnings_of
from emq_sql.effects.refusing import refusing
from emq_sql.protocol import autocommit, guarding

# They run without Django's knowing what, or over more than one call.
_STREAMS = ("copy", "stream", "copy_expert", "copy_from", "copy_to")

_Run = Callable[..., Any]
_former: list[tuple[type, str, Any]] = []
_met: set[type] = set()  # classes of cursors
_lock = threading.Lock()


def install() -> None:
    """From here on, in this process, runs that are guarded are, if Django is loaded.

    It may be called again, before each run: that costs next to nothing.
    """
    if _former or "django.db.utils" not in sys.modules:
        return
    with _lock:
        if _former:
            return
        if "django.db.backends.base.base" in sys.modules:
            _replace_all()
        else:  # no connection was made yet
            _replace(sys.modules["django.db.utils"].ConnectionHandler, "create_connection", _first)


def uninstall() -> None:
    """Put back what was replaced: for tests."""
    with _lock:
        _put_back()


def _put_back() -> None:
    while _former:
        owner, name, former = _former.pop()
        setattr(owner, name, former)
    _met.clear()


def _replace_all() -> None:
    wrapper = sys.modules["django.db.backends.base.base"].BaseDatabaseWrapper
    cursor = sys.modules["django.db.backends.utils"].CursorWrapper
    _replace(wrapper, "_commit", _commit)
    _replace(wrapper, "_prepare_cursor", _prepare_cursor)
    _replace(cursor, "_execute", _execute)
    _replace(cursor, "_executemany", _executemany)
    _replace(cursor, "callproc", _callproc)
    _replace(cursor, "__getattr__", _getattr)


def _replace(owner: type, name: str, new: Callable[[_Run], _Run]) -> None:
    former = getattr(owner, name)
    _former.append((owner, name, former))
    setattr(owner, name, new(former))


def _first(former: _Run) -> _Run:
    def create_connection(self: Any, alias: str) -> Any:
        connection = former(self, alias)
        with _lock:
            if len(_former) == 1:
                _put_back()
                _replace_all()
        return connection

    return create_connection


def _commit(former: _Run) -> _Run:
    def _commit(self: Any) -> Any:
        guarded = _guarded(self)
        if guarded is not None:
            _guard(Driven(self), guarded)
        return former(self)

    return _commit


def _execute(former: _Run) -> _Run:
    def _execute(self: Any, sql: Any, params: Any = None, *rest: Any) -> Any:
        guarded = _guarded(self.db)
        if guarded is None:
            return former(self, sql, params, *rest)
        driven = Driven(self.db)
        _must_be_guardable(driven, guarded, sql)
        if not is_alone(driven, guarded):
            return former(self, sql, params, *rest)

        def send(text: Any) -> Any:
            return former(self, text, params, *rest)

        if getattr(self.cursor, "name", None) is not None:
            return declared(self.cursor, driven, guarded, partial(send, sql))
        return at_once(self.cursor, driven, guarded, sql, send)

    return _execute


def _executemany(former: _Run) -> _Run:
    def _executemany(self: Any, sql: Any, param_list: Any, *rest: Any) -> Any:
        guarded = _guarded(self.db)
        if guarded is None:
            return former(self, sql, param_list, *rest)
        driven = Driven(self.db)
        _must_be_guardable(driven, guarded, sql)
        if not is_alone(driven, guarded):
            return former(self, sql, param_list, *rest)
        return in_transaction(driven, guarded, partial(former, self, sql, param_list, *rest))

    return _executemany


def _callproc(former: _Run) -> _Run:
    def callproc(self: Any, *args: Any, **kwargs: Any) -> Any:
        guarded = _guarded(self.db)
        if guarded is None or not is_alone(driven := Driven(self.db), guarded):
            return former(self, *args, **kwargs)
        return in_transaction(driven, guarded, partial(former, self, *args, **kwargs))

    return callproc


def _getattr(former: _Run) -> _Run:
    def __getattr__(self: Any, name: str) -> Any:  # noqa: N807
        if name in _STREAMS:
            _must_not_be_alone(self.db, name)
        return former(self, name)

    return __getattr__


def _prepare_cursor(former: _Run) -> _Run:
    def _prepare_cursor(self: Any, cursor: Any) -> Any:
        prepared = former(self, cursor)
        kind = type(prepared)
        if kind not in _met:  # what logs its statements has some of these as methods
            _met.add(kind)
            for name in _STREAMS:
                if name in vars(kind):
                    _replace(kind, name, _stream(name))
        return prepared

    return _prepare_cursor


def _stream(name: str) -> Callable[[_Run], _Run]:
    def replaced(former: _Run) -> _Run:
        def stream(self: Any, *args: Any, **kwargs: Any) -> Any:
            _must_not_be_alone(self.db, name)
            return former(self, *args, **kwargs)

        return stream

    return replaced


def _guarded(wrapper: Any) -> Guarded | None:
    guarded = here.get()
    if guarded is None or wrapper.vendor != "postgresql" or wrapper.connection is None:
        return None
    return guarded


def _guard(driven: Driven, guarded: Guarded) -> None:
    if driven.has_nothing_to_commit:
        return
    with refusing(driven, guarded):
        if guarded.ledgers.held_at(driven.address, driven.ask):
            guarding.guard_commit(driven.ask, guarded.schema, guarded.lease)


def _must_be_guardable(driven: Driven, guarded: Guarded, sql: Any) -> None:
    for beginning in beginnings_of(sql, driven.driver):
        if autocommit.ends_transactions(beginning):
            refuse_if_held(driven, guarded, "A statement that begins or ends a transaction itself")


def _must_not_be_alone(wrapper: Any, name: str) -> None:
    guarded = _guarded(wrapper)
    if guarded is not None and is_alone(driven := Driven(wrapper), guarded):
        refuse_if_held(driven, guarded, f"`cursor.{name}` in autocommit")
