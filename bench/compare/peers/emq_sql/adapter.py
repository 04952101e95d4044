"""emq_sql: enqueue, enqueue_many, and a real `emq worker`."""

from __future__ import annotations

import os
import sys
from typing import Any

import wire


class Peer(wire.Adapter):
    def install(self) -> None:
        from emq_sql.cli.main import main

        main(["schema", "upgrade", "--dsn", wire.DSN], standalone_mode=False)

    def counts(self) -> dict[str, Any]:
        return wire.counted(
            "select (select coalesce(sum(pending + scheduled + active + dead), 0) from emq.depth)",
            "select count(*) from emq.archive where status = 'completed'",
        )

    def open(self) -> None:
        from application import emq, noop

        self.emq, self.noop = emq, noop

    def single(self, n: int) -> None:
        self.noop.enqueue(**wire.payload(n))

    def bulk(self, numbers: range) -> None:
        self.noop.enqueue_many([wire.payload(n) for n in numbers])

    def close(self) -> None:
        self.emq.flush_rings()
        self.emq.engine.dispose()

    def work(self) -> None:
        command = [
            sys.executable, "-m", "emq_sql", "worker", "--app", "application:emq",
            "--log-level", "warning", "--concurrency", str(wire.SETTING["concurrency"]),
        ]  # fmt: skip
        if ahead := wire.SETTING.get("prefetch"):
            command += ["--prefetch", str(ahead)]
        os.execv(sys.executable, command)
