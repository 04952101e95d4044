"""The pgmq client: send, send_batch, and a loop of ours of read_with_poll and archive_batch."""

from __future__ import annotations

import logging
import signal
from typing import Any

import tally
import wire
from pgmq import PGMQueue, install_pgmq_from_sql

logging.disable(logging.INFO)

_PARTS = wire.libpq()
_CONNECT = {
    "host": _PARTS["host"], "port": _PARTS["port"], "database": _PARTS["dbname"],
    "username": _PARTS["user"], "password": "none", "conn_string": None, "init_extension": False,
}  # fmt: skip


class Peer(wire.Adapter):
    def install(self) -> None:
        install_pgmq_from_sql(**{k: v for k, v in _CONNECT.items() if k != "init_extension"})
        self.open()
        self.queue.create_queue("noop")
        self.close()

    def counts(self) -> dict[str, Any]:
        kept = wire.SETTING["ending"] == "archive_batch"
        return wire.counted(
            "select count(*) from pgmq.q_noop", "select count(*) from pgmq.a_noop" if kept else None
        )

    def open(self) -> None:
        self.queue = PGMQueue(**_CONNECT)

    def single(self, n: int) -> None:
        self.queue.send("noop", wire.payload(n))

    def bulk(self, numbers: range) -> None:
        self.queue.send_batch("noop", [wire.payload(n) for n in numbers])

    def close(self) -> None:
        self.queue.close()

    def work(self) -> None:
        going = True

        def stop(*_: object) -> None:
            nonlocal going
            going = False

        signal.signal(signal.SIGTERM, stop)
        self.open()
        end = getattr(self.queue, wire.SETTING["ending"])
        batch, poll = wire.SETTING["batch"], wire.SETTING.get("poll", 100)
        while going:
            messages = self.queue.read_with_poll(
                "noop", vt=60, qty=batch, max_poll_seconds=1, poll_interval_ms=poll
            )
            for message in messages:
                tally.ran(message.message["n"])
            if messages:
                end("noop", [message.msg_id for message in messages])
        self.close()
