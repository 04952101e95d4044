"""The same transaction for coroutines: an AsyncSession on psycopg or asyncpg."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from sqlalchemy.engine import Connection

from emq_sql.effects.committing import committing
from emq_sql.effects.completion import PAUSES, busy, settle_on
from emq_sql.effects.inbox import must_be_key, once_on
from emq_sql.effects.transaction import CommitLock, must_be_plain, must_begin
from emq_sql.errors import UnsupportedHandle
from emq_sql.job import End, Lease, SettleAnswer

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession


@asynccontextmanager
async def aopened(source: object) -> AsyncIterator[AsyncSession]:
    """An AsyncSession of an AsyncEngine or async_sessionmaker, in a transaction that is committed
    when the block has ended, and rolled back when it raises. Nobody else may commit it.

    A task that is cancelled during the commit does not know whether it took place.
    """
    session = _made(source)
    plain = session.sync_session
    try:
        await session.run_sync(must_begin)
        connection = await session.connection()
        pooled = await connection.get_raw_connection()
        driver = pooled.driver_connection
        must_be_plain(plain, pooled.dbapi_connection)
        lock = await session.run_sync(lambda s: CommitLock(s.connection(), s))
        yield session
        lock.unlock()
        with committing(driver):
            await session.commit()
    except BaseException:
        await _to_its_end(_given_up(session))
        raise
    else:
        await _to_its_end(session.close())


async def asettle(
    session: AsyncSession, schema: str, lease: Lease, end: End
) -> tuple[SettleAnswer, Any]:
    """`settle_in`, as the last statement before the commit; flushes first. Answers also the
    connection, as its driver has it.
    """
    await session.flush()
    for pause in (*PAUSES, None):
        answer, driver = await session.run_sync(
            lambda s: _settle(s.connection(), schema, lease, end)
        )
        if answer != "busy":
            return answer, driver
        if pause is not None:
            await asyncio.sleep(pause)
    raise busy(lease)


async def aonce(handle: object, schema: str, lease: Lease, key: str) -> bool:
    """`once_in` for an AsyncSession or an AsyncConnection."""
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession  # noqa: PLC0415

    must_be_key(key)
    if isinstance(handle, AsyncSession):
        return await handle.run_sync(lambda s: once_on(s.connection(), schema, lease, key))
    if isinstance(handle, AsyncConnection):
        return await handle.run_sync(lambda c: once_on(c, schema, lease, key))
    raise _unsupported(handle, "Give an AsyncSession or an AsyncConnection.")


async def _given_up(session: AsyncSession) -> None:
    with suppress(Exception):  # what the block has raised goes on
        await session.rollback()
    with suppress(Exception):
        await session.close()


async def _to_its_end(what: Coroutine[Any, Any, None]) -> None:
    """Wait for it even when this task is cancelled meanwhile, and again: nobody else may use a
    session that is in the middle of it. Then CancelledError is raised.
    """
    task = asyncio.ensure_future(what)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    task.result()


def _settle(
    connection: Connection, schema: str, lease: Lease, end: End
) -> tuple[SettleAnswer, Any]:
    return settle_on(connection, schema, lease, end), connection.connection.driver_connection


def _made(source: object) -> AsyncSession:
    from sqlalchemy.ext.asyncio import (  # noqa: PLC0415 - spared to who needs none
        AsyncEngine,
        AsyncSession,
        async_sessionmaker,
    )

    if isinstance(source, AsyncEngine):
        return AsyncSession(source)
    if isinstance(source, async_sessionmaker):
        made: AsyncSession = source()
        return made
    raise _unsupported(source, "Give an AsyncEngine or an async_sessionmaker.")


def _unsupported(given: object, hint: str) -> UnsupportedHandle:
    kind = type(given)
    return UnsupportedHandle(
        f"A {kind.__module__}.{kind.__qualname__} is none for coroutines.", hint=hint
    )
