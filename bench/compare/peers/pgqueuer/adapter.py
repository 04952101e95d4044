"""PgQueuer: Queries.enqueue with one and with many, and PgQueuer.run in a process with uvloop."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import asyncpg
import tally
import uvloop
import wire
from pgqueuer import AsyncpgDriver, PgQueuer, Queries


class Peer(wire.Adapter):
    async def install(self) -> None:
        await self.open()
        await self.queries.install()
        await self.close()

    def counts(self) -> dict[str, Any]:
        return wire.counted(
            "select count(*) from pgqueuer",
            "select (select count(*) from pgqueuer_log where status = 'successful'"
            " and not aggregated)"
            " + (select coalesce(sum(count), 0) from pgqueuer_statistics"
            " where status = 'successful')",
        )

    async def open(self) -> None:
        self.conn = await asyncpg.connect(wire.DSN)
        self.queries = Queries(AsyncpgDriver(self.conn))

    async def single(self, n: int) -> None:
        await self.queries.enqueue("noop", json.dumps(wire.payload(n)).encode())

    async def bulk(self, numbers: range) -> None:
        payloads: list[bytes | None] = [json.dumps(wire.payload(n)).encode() for n in numbers]
        await self.queries.enqueue(["noop"] * len(numbers), payloads, [0] * len(numbers))

    async def close(self) -> None:
        await self.conn.close()

    def work(self) -> None:
        logging.disable(logging.INFO)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._work())

    async def _work(self) -> None:
        queue = PgQueuer.from_asyncpg_connection(await asyncpg.connect(wire.DSN))

        @queue.entrypoint("noop")
        async def noop(job: Any) -> None:
            tally.ran(json.loads(job.payload)["n"])

        stop = wire.stopping()
        running = asyncio.create_task(queue.run(batch_size=wire.SETTING["batch"]))
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait((running, stopped), return_when=asyncio.FIRST_COMPLETED)
        queue.shutdown.set()
        await running
