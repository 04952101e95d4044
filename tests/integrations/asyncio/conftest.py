"""The three asynchronous handles, each with a transaction of its caller's."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar

import psycopg
import pytest
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine

from tests.app.conftest import emq, reader, send  # noqa: F401 - fixtures
from tests.effects.conftest import home, ledger  # noqa: F401 - fixtures
from tests.effects.conftest import run as lost_run  # noqa: F401 - a fixture
from tests.plugins.databases import Database

T = TypeVar("T")
Handles = Callable[..., AbstractAsyncContextManager[Any]]
KINDS = ("AsyncSession", "AsyncConnection", "psycopg")


def run(scenario: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """In an event loop of its own, and in the context of the test."""
    with asyncio.Runner() as runner:
        return runner.run(scenario(), context=contextvars.copy_context())


def async_engine(dsn: str, driver: str = "psycopg", **given: Any) -> AsyncEngine:
    return create_async_engine(dsn.replace("postgresql:", f"postgresql+{driver}:", 1), **given)


@asynccontextmanager
async def opened(kind: str, dsn: str, *, autocommit: bool = False) -> AsyncIterator[Any]:
    """A handle of this kind; what it did not commit is rolled back."""
    if kind == "psycopg":
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=autocommit) as conn:
            yield conn
            if not conn.closed:
                await conn.rollback()
        return
    given: dict[str, Any] = {"isolation_level": "AUTOCOMMIT"} if autocommit else {}
    engine = async_engine(dsn, **given)
    try:
        made: Any = AsyncSession(engine) if kind == "AsyncSession" else engine.connect()
        async with made as handle:
            yield handle
    finally:
        await engine.dispose()


@pytest.fixture(params=KINDS)
def handles(request: pytest.FixtureRequest, db: Database) -> Iterator[Handles]:
    """Opens a handle: for each kind in turn."""
    yield lambda **given: opened(request.param, db.dsn, **given)
