"""awa: insert, enqueue_many_copy, and AsyncClient.start in a process of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import awa
import tally
import wire
from awa import AsyncClient

_DSN = wire.DSN.replace("@/", "@localhost/", 1)  # its parser wants a host; the socket still counts


@dataclass
class Noop:
    n: int
    pad: str


class Peer(wire.Adapter):
    async def install(self) -> None:
        await awa.migrate(_DSN)
        client = AsyncClient(_DSN)
        await client.install_queue_storage(schema="awa")  # the engine of new installations, at once
        await client.close()

    def counts(self) -> dict[str, Any]:
        # Its own views and queue_stats take minutes over a backlog that has just been run; these
        # two tables say the same: each entry that was ready, and each completion, in batches.
        return wire.counted(
            "select (select count(*) from awa.ready_entries)"
            " - (select coalesce(sum(completed_count), 0) from awa.receipt_completion_batches)"
            " - (select count(*) from awa.done_entries)",
            None,
        )

    async def open(self) -> None:
        self.client = AsyncClient(_DSN)

    async def single(self, n: int) -> None:
        await self.client.insert(Noop(**wire.payload(n)), queue="noop")

    async def bulk(self, numbers: range) -> None:
        await self.client.enqueue_many_copy(
            [Noop(**wire.payload(n)) for n in numbers], queue="noop"
        )

    async def close(self) -> None:
        await self.client.close()

    async def work(self) -> None:
        stop = wire.stopping()
        client = AsyncClient(_DSN)

        @client.task(Noop, queue="noop")
        async def noop(job: Any) -> None:
            tally.ran(job.args.n)

        await client.start([("noop", wire.SETTING["workers"])])
        await stop.wait()
        await client.shutdown()
        await client.close()
