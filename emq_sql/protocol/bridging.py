"""Synchronous code on a psycopg AsyncConnection: where a coroutine waits for it, it waits too.

One path serves both then: the statements, their errors and the guard are those of the synchronous
calls. It runs as `AsyncSession.run_sync` runs things, in a greenlet of the caller's task: the event
loop goes on meanwhile, and a task that is cancelled cancels its statement.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from sqlalchemy.util import await_only, greenlet_spawn

from emq_sql.errors import BadSetting, UnsupportedHandle
from emq_sql.protocol import adapt
from emq_sql.protocol.troubles import found

Answer = TypeVar("Answer")

_KINDS = {"AsyncSession": "sync_session", "AsyncConnection": "sync_connection"}


async def waited(handle: object | None, do: Callable[[object | None], Answer]) -> Answer:
    """What `do` answers, which is given a handle that `driver_connection` takes.

    Without a handle it runs in a thread, in this context. Raises UnsupportedHandle for what is no
    AsyncSession, AsyncConnection or psycopg AsyncConnection, or has not been started.
    """
    if handle is None:
        return await asyncio.to_thread(do, None)
    plain = _plain(handle)
    if find_spec("greenlet") is None:
        raise BadSetting(
            "Asynchronous sessions and connections need greenlet.",
            hint="pip install 'emq-sql[asyncio]'",
        )
    return await greenlet_spawn(do, plain)


def driver_connection(handle: object) -> psycopg.Connection[Any]:
    """`adapt.driver_connection`; within `waited`, or `run_sync`, also of what is asynchronous."""
    try:
        return adapt.driver_connection(handle)
    except UnsupportedHandle:
        if not _can_wait() or (driver := _asynchronous(handle)) is None:
            raise
        return Bridged(driver)


class Bridged(psycopg.Connection[Any]):
    """The AsyncConnection itself, with all that it knows (its transaction, its prepared statements,
    its lock), seen as a Connection. It is made anew for each call and owns nothing.
    """

    __slots__ = ("_real",)  # not in the state that they share

    def __init__(self, real: psycopg.AsyncConnection[Any]) -> None:
        self.__dict__ = real.__dict__  # one state, whoever changes it
        self._real = real

    def __del__(self, *_: Any) -> None:
        """It is the other's to close."""

    @property
    def lock(self) -> _Lock:  # type: ignore[override]
        """That of the AsyncConnection: who awaits it has it for as long."""
        return _Lock(self.__dict__["lock"])

    @property
    def cursor_factory(self) -> type[psycopg.Cursor[Any]]:  # type: ignore[override]
        """The other's is of asynchronous ones."""
        return psycopg.Cursor

    def wait(self, gen: PQGen[Answer], *given: Any, **named: Any) -> Answer:
        """What the generator answers, awaited."""
        return await_only(self._real.wait(gen, *given, **named))


class _Lock:
    def __init__(self, real: asyncio.Lock) -> None:
        self._real = real

    def __enter__(self) -> None:
        await_only(self._real.acquire())

    def __exit__(self, *_: object) -> None:
        self._real.release()


def _plain(handle: object) -> object:
    """The synchronous one behind it, which works in a greenlet."""
    if isinstance(handle, psycopg.AsyncConnection):
        return handle
    # Who has one has imported them; all others are spared it.
    module: Any = sys.modules.get("sqlalchemy.ext.asyncio")
    if module is not None and isinstance(handle, module.async_scoped_session):
        handle = handle()
    for kind, attribute in _KINDS.items():
        if module is not None and isinstance(handle, getattr(module, kind)):
            plain: object | None = getattr(handle, attribute)
            if plain is not None:
                return plain
            raise UnsupportedHandle(
                "This AsyncConnection has not been started.",
                hint="Use it within `async with engine.connect() as connection:`, or await it.",
            )
    given = type(handle)
    raise UnsupportedHandle(
        f"A {given.__module__}.{given.__qualname__} cannot carry a transaction here.",
        hint="Give an AsyncSession, an AsyncConnection or a psycopg AsyncConnection; with a"
        " synchronous one: enqueue(...).",
    )


def _asynchronous(handle: object) -> psycopg.AsyncConnection[Any] | None:
    if isinstance(handle, psycopg.AsyncConnection):
        return handle
    with found():
        connection = adapt.connection_of(handle)
        driver = None if connection is None else connection.connection.driver_connection
    return driver if isinstance(driver, psycopg.AsyncConnection) else None


def _can_wait() -> bool:
    """Whether this runs in a greenlet of SQLAlchemy's, which a coroutine waits for."""
    module: Any = sys.modules.get("greenlet")
    current = None if module is None else module.getcurrent()
    return bool(getattr(current, "__sqlalchemy_greenlet_provider__", False))
