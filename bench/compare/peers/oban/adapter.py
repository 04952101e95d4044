"""Oban for Python, the free edition: enqueue, enqueue_many, and Oban with one queue, on uvloop."""

from __future__ import annotations

import asyncio
from typing import Any

import tally
import uvloop
import wire
from oban import Oban, worker
from oban.schema import install


@worker(queue="default")
class Noop:
    async def process(self, job: Any) -> None:
        tally.ran(job.args["n"])


class Peer(wire.Adapter):
    async def install(self) -> None:
        pool = await Oban.create_pool(wire.DSN)
        await install(pool)
        await pool.close()

    def counts(self) -> dict[str, Any]:
        return wire.counted(
            "select count(*) from oban_jobs where state <> 'completed'",
            "select count(*) from oban_jobs where state = 'completed'",
        )

    async def open(self) -> None:
        self.pool = await Oban.create_pool(wire.DSN)
        self.oban = Oban(pool=self.pool)

    async def single(self, n: int) -> None:
        await self.oban.enqueue(Noop.new(wire.payload(n)))

    async def bulk(self, numbers: range) -> None:
        await self.oban.enqueue_many([Noop.new(wire.payload(n)) for n in numbers])

    async def close(self) -> None:
        await self.pool.close()

    def work(self) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._work())

    async def _work(self) -> None:
        stop = wire.stopping()
        pool = await Oban.create_pool(wire.DSN)
        async with Oban(pool=pool, queues={"default": wire.SETTING["limit"]}):
            await stop.wait()
        await pool.close()
