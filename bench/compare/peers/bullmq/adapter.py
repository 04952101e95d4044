"""BullMQ for Python on its PostgreSQL backend: Queue.add, Queue.addBulk, and Worker."""

from __future__ import annotations

import asyncio
from typing import Any

import tally
import wire
from bullmq import Queue, Worker

_PARTS = wire.libpq()
_OPTIONS: dict[str, Any] = {
    "backend": "postgres",
    "connection": {
        "host": _PARTS["host"], "port": _PARTS["port"], "dbname": _PARTS["dbname"],
        "user": _PARTS["user"],
    },
}  # fmt: skip


async def noop(job: Any, token: str) -> None:
    tally.ran(job.data["n"])


class Peer(wire.Adapter):
    async def install(self) -> None:
        await self.open()
        await self.queue.add("noop", wire.payload(0))  # it migrates when it is first used
        await self.queue.obliterate(force=True)
        await self.close()

    def counts(self) -> dict[str, Any]:
        return wire.counted(
            "select count(*) from bullmq.job where state <> 'completed'",
            "select count(*) from bullmq.job where state = 'completed'",
        )

    async def open(self) -> None:
        self.queue = Queue("noop", _OPTIONS)

    async def single(self, n: int) -> None:
        await self.queue.add("noop", wire.payload(n))

    async def bulk(self, numbers: range) -> None:
        await self.queue.addBulk([{"name": "noop", "data": wire.payload(n)} for n in numbers])

    async def close(self) -> None:
        await self.queue.close()

    async def work(self) -> None:
        stop = wire.stopping()
        worker = Worker("noop", noop, _OPTIONS | {"concurrency": wire.SETTING["concurrency"]})
        await stop.wait()
        await asyncio.wait_for(worker.close(), 20)
