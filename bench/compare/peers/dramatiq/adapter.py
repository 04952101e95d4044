"""dramatiq on Redis: Actor.send (no bulk call) and the `dramatiq` command."""

from __future__ import annotations

from typing import Any

import wire
from redis import Redis


class Peer(wire.Adapter):
    def install(self) -> None:
        Redis.from_url(wire.DSN).flushall()

    def counts(self) -> dict[str, Any]:
        redis = Redis.from_url(wire.DSN)
        waiting = redis.llen("dramatiq:default")
        held = sum(redis.scard(key) for key in redis.scan_iter("dramatiq:__acks__.*"))
        return {"left": waiting + held, "done": None}

    def open(self) -> None:
        from jobs import noop

        self.noop = noop

    def single(self, n: int) -> None:
        self.noop.send(**wire.payload(n))

    def bulk(self, numbers: range) -> None:
        for n in numbers:
            self.noop.send(**wire.payload(n))

    def work(self) -> None:
        wire.become(
            "dramatiq", "jobs", "--processes", "1", "--threads", str(wire.SETTING["threads"])
        )
