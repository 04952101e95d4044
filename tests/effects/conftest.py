"""A run whose job can be taken away for real, and engines of every driver on its database."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

import pytest
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from sqlalchemy import create_engine, text
from sqlalchemy.engine import Engine
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from emq_sql.effects.current import here
from emq_sql.effects.effects import DatabaseEffects
from emq_sql.job import Lease
from tests.plugins.databases import Database
from tests.protocol.calls import Held, Ledger
from tests.worker.conftest import bench  # noqa: F401 - a fixture

T = TypeVar("T")
WRITE = text("insert into effect values (:n)")
DRIVERS = ("psycopg", "psycopg2", "psycopg_async", "asyncpg")
TWO_DRIVERS = ("psycopg", "asyncpg")  # as different as they come


def sqlalchemy_url(dsn: str, driver: str = "psycopg") -> str:
    return dsn.replace("postgresql:", f"postgresql+{driver}:", 1)


def lease_of(held: Held) -> Lease:
    length = timedelta(milliseconds=held.lease_ms)
    return Lease(held.id, held.fence, held.attempts, held.lease_deadline, length)


@dataclass
class Running:
    """A job whose handler runs here, in the context of the test."""

    ledger: Ledger
    held: Held
    effects: DatabaseEffects
    refused: list[str] = field(default_factory=list)

    @property
    def lease(self) -> Lease:
        return lease_of(self.held)

    def begin(self, *, guard: bool = True) -> None:
        self.effects.begin(self.lease, self.refused.append, guard=guard)

    def lose(self) -> None:
        """The lease, which is over, is taken back, and another worker has the job."""
        self.ledger.expire(self.held)
        assert self.ledger.reap() == (1, 0, 0)
        (now,) = self.ledger.claim(worker="w2", nonce=8)
        assert now.id == self.held.id

    def written(self) -> list[int]:
        return self.ledger.column("select n from effect order by n")


@dataclass
class Pool:
    """An engine with room for one connection, on any driver; everything runs in one loop."""

    engine: Engine | AsyncEngine
    runner: asyncio.Runner

    def session(self, scenario: Callable[[Session], T]) -> T:
        """The scenario in a session, which is closed at its end."""
        if isinstance(self.engine, Engine):
            with Session(self.engine) as session:
                return scenario(session)

        engine = self.engine

        async def inside() -> T:
            async with AsyncSession(engine) as session:
                return await session.run_sync(scenario)

        return self.runner.run(inside(), context=contextvars.copy_context())

    def close(self) -> None:
        if isinstance(self.engine, Engine):
            self.engine.dispose()
        else:
            self.runner.run(self.engine.dispose())


@pytest.fixture
def ledger(db: Database) -> Ledger:
    """A session in which each statement commits, and a table for what handlers do."""
    made = Ledger(db.connect(options="-c lock_timeout=3s"))
    made.run("create table effect (n int)")
    return made


@pytest.fixture
def other(db: Database) -> Ledger:
    """A session of somebody else's, whose transaction stays open until the test ends it."""
    return Ledger(db.connect(autocommit=False))


@pytest.fixture
def home(db: Database) -> Iterator[Engine]:
    """The engine that the worker was given."""
    engine = create_engine(sqlalchemy_url(db.dsn))
    yield engine
    engine.dispose()


@pytest.fixture
def run(ledger: Ledger, home: Engine) -> Iterator[Running]:
    """A run that is guarded, of a job whose lease is over and not taken back yet."""
    running = Running(ledger, ledger.start(lease="1 ms"), DatabaseEffects("emq", home))
    running.begin()
    yield running
    here.set(None)


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as made:
        yield made


@pytest.fixture
def make_pool(db: Database, runner: asyncio.Runner) -> Iterator[Callable[..., Pool]]:
    """Makes a Pool by the driver's name; given as to create_engine."""
    made: list[Pool] = []

    def make(driver: str = "psycopg", dsn: str = db.dsn, **given: Any) -> Pool:
        asynchronous = driver in ("psycopg_async", "asyncpg")
        create: Any = create_async_engine if asynchronous else create_engine
        if driver == "asyncpg":
            given = {"connect_args": asyncpg_arguments(dsn)} | given
            dsn = "postgresql://"
        settings = {"pool_size": 1, "max_overflow": 0, "pool_timeout": 5} | given
        made.append(Pool(create(sqlalchemy_url(dsn, driver), **settings), runner))
        return made[-1]

    yield make
    for pool in made:
        pool.close()


@pytest.fixture(params=TWO_DRIVERS)
def pool(request: pytest.FixtureRequest, make_pool: Callable[..., Pool]) -> Pool:
    """On psycopg and on asyncpg; on each driver, where a test says so."""
    return make_pool(request.param)


@pytest.fixture
def engine(make_pool: Callable[..., Pool]) -> Engine:
    """An application's engine, on psycopg."""
    made = make_pool().engine
    assert isinstance(made, Engine)
    return made


def idle(driver: Any) -> bool:
    """Whether no transaction is open on it."""
    if hasattr(driver, "is_in_transaction"):
        return not driver.is_in_transaction()
    return bool(driver.info.transaction_status == TransactionStatus.IDLE)


def asyncpg_arguments(dsn: str) -> dict[str, Any]:
    """asyncpg reads a DSN by itself, also one with the directory of a socket."""
    names = {"dbname": "database", "host": "host", "port": "port", "user": "user",
             "password": "password"}  # fmt: skip
    return {names[k]: v for k, v in conninfo_to_dict(dsn).items() if k in names and v is not None}
