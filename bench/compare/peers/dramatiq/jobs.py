"""The module that `dramatiq` loads: the broker and the actor."""

from __future__ import annotations

import dramatiq
import tally
import wire
from dramatiq.brokers.redis import RedisBroker

broker = RedisBroker(url=wire.DSN)
dramatiq.set_broker(broker)


@dramatiq.actor
def noop(n: int, pad: str) -> None:
    tally.ran(n)
