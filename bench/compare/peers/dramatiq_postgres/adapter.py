"""dramatiq on dramatiq-postgres: Actor.send (no bulk call) and the `dramatiq` command."""

from __future__ import annotations

from typing import Any

import psycopg
import wire


class Peer(wire.Adapter):
    def install(self) -> None:
        from dramatiq_postgres import init

        with psycopg.connect(wire.DSN) as conn, conn.cursor() as cursor:
            init(cursor)

    def counts(self) -> dict[str, Any]:
        return wire.counted("select count(*) from dramatiq.queue", None)

    def open(self) -> None:
        from jobs import broker, noop

        self.broker, self.noop = broker, noop

    def single(self, n: int) -> None:
        self.noop.send(**wire.payload(n))

    def bulk(self, numbers: range) -> None:
        for n in numbers:
            self.noop.send(**wire.payload(n))

    def work(self) -> None:
        wire.become(
            "dramatiq", "jobs", "--processes", "1", "--threads", str(wire.SETTING["threads"])
        )
