"""The recipes for coroutines, run as they stand on their page."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

from emq_sql import EMQ
from tests.plugins.databases import Database

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "async.md"


def recipe(name: str) -> str:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (found,) = [block for block in blocks if block.startswith(f"# recipe: {name}\n")]
    return str(found)


@pytest.fixture
def space(db: Database) -> Iterator[dict[str, Any]]:
    """What the recipes take for granted."""
    emq = EMQ(db.dsn)

    @emq.task
    def confirm(order_id: int) -> None: ...

    db.connect().execute("create table orders (n int)")
    yield {"emq": emq, "confirm": confirm, "psycopg": psycopg, "DSN": db.dsn, "text": text,
           "AsyncSession": AsyncSession}  # fmt: skip
    emq.engine.dispose()


def jobs(db: Database) -> list[int]:
    query = "select (payload ->> 'order_id')::int from emq.job order by 1"
    return [row[0] for row in db.connect().execute(query).fetchall()]


def orders(db: Database) -> list[int]:
    return [row[0] for row in db.connect().execute("select n from orders order by 1").fetchall()]


def test_an_order_in_an_async_session_has_its_job(db: Database, space: dict[str, Any]) -> None:
    async def run() -> None:
        space["engine"] = engine = create_async_engine(
            db.dsn.replace("postgresql:", "postgresql+psycopg:", 1)
        )
        exec(recipe("session"), space)
        await space["order"](7)
        await engine.dispose()

    asyncio.run(run())
    assert orders(db) == jobs(db) == [7]


def test_an_order_on_a_psycopg_connection_has_its_job(db: Database, space: dict[str, Any]) -> None:
    exec(recipe("psycopg"), space)
    asyncio.run(space["order"](7))
    assert orders(db) == jobs(db) == [7]


def test_jobs_of_no_transaction_are_there_on_return(db: Database, space: dict[str, Any]) -> None:
    exec(recipe("alone"), space)
    asyncio.run(space["remind"]([1, 2, 3]))
    assert jobs(db) == [1, 2, 3]
