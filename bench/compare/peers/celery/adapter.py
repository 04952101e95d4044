"""Celery on Redis: Task.delay (no bulk call) and `celery worker`."""

from __future__ import annotations

from typing import Any

import wire
from redis import Redis


class Peer(wire.Adapter):
    def install(self) -> None:
        Redis.from_url(wire.DSN).flushall()

    def counts(self) -> dict[str, Any]:
        redis = Redis.from_url(wire.DSN)
        return {"left": redis.llen("celery") + redis.hlen("unacked"), "done": None}

    def open(self) -> None:
        from jobs import app, noop

        self.app, self.noop = app, noop

    def single(self, n: int) -> None:
        self.noop.delay(**wire.payload(n))

    def bulk(self, numbers: range) -> None:
        with self.app.producer_pool.acquire(block=True) as producer:
            for n in numbers:
                self.noop.apply_async(kwargs=wire.payload(n), producer=producer)

    def work(self) -> None:
        wire.become(
            "celery", "-A", "jobs", "worker", "--pool", wire.SETTING["pool"],
            "-c", str(wire.SETTING["concurrency"]), "--without-gossip", "--without-mingle",
            "--loglevel", "WARNING",
        )  # fmt: skip
