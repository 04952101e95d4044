"""A FastAPI service whose orders are confirmed by jobs. Its worker lives as long as it does."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

from emq_sql import EMQ

DATABASE = os.environ["SERVICE_DATABASE"]  # postgresql+psycopg://...
GRACE = 10  # seconds that running jobs have when the service stops

emq = EMQ(DATABASE)
engine = create_async_engine(DATABASE)


@emq.task(queue="mail", transaction=True)
def confirm(session, number: int) -> None:
    session.execute(text("update orders set confirmed = true where n = :n"), {"n": number})


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    # A process of its own: a request that is slow delays no lease, nor does a job a request.
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "emq_sql", "worker", "--app", "service:emq", "--queues", "mail",
        "--grace", str(GRACE),
    )  # fmt: skip
    try:
        yield
    finally:
        if worker.returncode is None:
            worker.terminate()
        await worker.wait()
        await engine.dispose()
        emq.engine.dispose()


app = FastAPI(lifespan=lifespan)


@app.post("/orders/{number}")
async def order(number: int) -> dict[str, str]:
    async with AsyncSession(engine) as session:
        await session.execute(text("insert into orders values (:n, false)"), {"n": number})
        job = await confirm.using(session=session).aenqueue(number=number)
        await session.commit()
    return {"job": str(job.id)}


@app.get("/jobs/{job}")
async def place(job: str) -> dict[str, str | None]:
    found = await asyncio.to_thread(emq.place, job)
    return {"place": None if found is None else found["place"]}
