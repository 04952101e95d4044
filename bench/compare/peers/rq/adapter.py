"""RQ: Queue.enqueue, Queue.enqueue_many, and `rq worker`."""

from __future__ import annotations

from typing import Any

import wire
from redis import Redis
from rq import Queue


class Peer(wire.Adapter):
    def install(self) -> None:
        Redis.from_url(wire.DSN).flushall()

    def counts(self) -> dict[str, Any]:
        queue = Queue("noop", connection=Redis.from_url(wire.DSN))
        left = queue.count + queue.started_job_registry.count + queue.failed_job_registry.count
        return {"left": left, "done": queue.finished_job_registry.count}

    def open(self) -> None:
        self.queue = Queue("noop", connection=Redis.from_url(wire.DSN))

    def single(self, n: int) -> None:
        self.queue.enqueue("jobs.noop", **wire.payload(n))

    def bulk(self, numbers: range) -> None:
        self.queue.enqueue_many(
            [Queue.prepare_data("jobs.noop", kwargs=wire.payload(n)) for n in numbers]
        )

    def close(self) -> None:
        self.queue.connection.close()

    def work(self) -> None:
        wire.become(
            "rq", "worker", "--url", wire.DSN, "-w", wire.SETTING["class"],
            "--logging_level", "WARNING", "noop",
        )  # fmt: skip
