"""Nobody commits in a job.transaction block before its end, whichever object they do it through."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from contextlib import suppress

import pytest
from sqlalchemy.engine import Engine
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import Session

from emq_sql.errors import CannotGuard
from tests.effects.conftest import TWO_DRIVERS, WRITE, Running, sqlalchemy_url
from tests.plugins.databases import Database


def inner_session(session: Session) -> None:
    inner = Session(session.connection(), join_transaction_mode="control_fully")
    inner.execute(WRITE, {"n": 3})
    inner.commit()


def its_transaction(session: Session) -> None:
    transaction = session.connection().get_transaction()
    assert transaction is not None
    transaction.commit()


WAYS: dict[str, Callable[[Session], None]] = {
    "the session": lambda session: session.commit(),
    "its connection": lambda session: session.connection().commit(),
    "its transaction": its_transaction,
    "a session within": inner_session,
}


@pytest.mark.parametrize("swallowed", [False, True], ids=["raised", "swallowed"])
@pytest.mark.parametrize("way", WAYS)
def test_effects_are_not_committed_without_the_end_of_the_run(
    run: Running, home: Engine, way: str, swallowed: bool
) -> None:
    with pytest.raises(CannotGuard), run.effects.transaction(home, "session") as session:
        session.execute(WRITE, {"n": 1})
        with suppress(CannotGuard if swallowed else ()):
            WAYS[way](session)
        if way != "the session":
            with suppress(Exception):  # its transaction is gone
                session.execute(WRITE, {"n": 2})
        else:
            raise CannotGuard("the block is whole, and may go on")
    assert run.written() == []
    assert run.ledger.place(run.held.id) == "active"


@pytest.mark.parametrize("driver", TWO_DRIVERS)
def test_nor_in_a_coroutine(run: Running, db: Database, driver: str) -> None:
    name = "psycopg_async" if driver == "psycopg" else driver

    async def scenario() -> None:
        engine = create_async_engine(sqlalchemy_url(db.dsn, name))
        try:
            with pytest.raises(CannotGuard):
                async with run.effects.atransaction(engine) as session:
                    await session.execute(WRITE, {"n": 1})
                    await (await session.connection()).commit()
        finally:
            await engine.dispose()

    with asyncio.Runner() as runner:
        runner.run(scenario(), context=contextvars.copy_context())
    assert run.written() == []
