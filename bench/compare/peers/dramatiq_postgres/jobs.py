"""The module that `dramatiq` loads: the broker and the actor."""

from __future__ import annotations

import dramatiq
import tally
import wire
from dramatiq_postgres import PostgresBroker

broker = PostgresBroker(url=wire.DSN, results=wire.SETTING.get("results", True))
dramatiq.set_broker(broker)


@dramatiq.actor
def noop(n: int, pad: str) -> None:
    tally.ran(n)
