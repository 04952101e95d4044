"""Chancy: push, push_many, and Worker with an executor in its own process."""

from __future__ import annotations

import logging
from typing import Any

import tally
import wire
from chancy import Chancy, Queue, Worker, job

logging.disable(logging.INFO)

if wire.SETTING.get("executor", "").endswith("AsyncExecutor"):

    @job(queue="default")
    async def noop(*, n: int, pad: str) -> None:
        tally.ran(n)

else:

    @job(queue="default")
    def noop(*, n: int, pad: str) -> None:
        tally.ran(n)


def _job(n: int) -> Any:
    return noop.job.with_kwargs(**wire.payload(n))


class Peer(wire.Adapter):
    async def install(self) -> None:
        async with Chancy(wire.DSN) as chancy:
            await chancy.migrate()
            await chancy.declare(
                Queue(
                    "default", executor=wire.SETTING["executor"],
                    concurrency=wire.SETTING["concurrency"], eager_polling=wire.SETTING["eager"],
                )
            )  # fmt: skip

    def counts(self) -> dict[str, Any]:
        return wire.counted(
            "select count(*) from chancy_jobs where state <> 'succeeded'",
            "select count(*) from chancy_jobs where state = 'succeeded'",
        )

    async def open(self) -> None:
        self.chancy = Chancy(wire.DSN)
        await self.chancy.__aenter__()

    async def single(self, n: int) -> None:
        await self.chancy.push(_job(n))

    async def bulk(self, numbers: range) -> None:
        async for _ in self.chancy.push_many(map(_job, numbers), batch_size=len(numbers)):
            pass

    async def close(self) -> None:
        await self.chancy.__aexit__(None, None, None)

    async def work(self) -> None:
        async with Chancy(wire.DSN) as chancy, Worker(chancy) as worker:
            await worker.wait_for_shutdown()
