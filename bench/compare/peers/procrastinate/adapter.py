"""procrastinate: defer_async, batch_defer_async, and App.run_worker_async."""

from __future__ import annotations

import logging
from typing import Any

import tally
import wire
from procrastinate import App, PsycopgConnector

app = App(connector=PsycopgConnector(conninfo=wire.DSN, max_size=20))


@app.task(name="noop")
async def noop(n: int, pad: str) -> None:
    tally.ran(n)


class Peer(wire.Adapter):
    async def install(self) -> None:
        async with app.open_async():
            await app.schema_manager.apply_schema_async()

    def counts(self) -> dict[str, Any]:
        return wire.counted(
            "select count(*) from procrastinate_jobs where status not in ('succeeded')",
            None if wire.SETTING["delete"] != "never" else
            "select count(*) from procrastinate_jobs where status = 'succeeded'",
        )  # fmt: skip

    async def open(self) -> None:
        await app.open_async()

    async def single(self, n: int) -> None:
        await noop.defer_async(**wire.payload(n))

    async def bulk(self, numbers: range) -> None:
        await noop.batch_defer_async(*map(wire.payload, numbers))

    async def close(self) -> None:
        await app.close_async()

    async def work(self) -> None:
        logging.disable(logging.INFO)
        async with app.open_async():
            await app.run_worker_async(
                concurrency=wire.SETTING["concurrency"], delete_jobs=wire.SETTING["delete"]
            )
