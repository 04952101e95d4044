"""The application that `emq worker` loads: one no-op task, as a function or as a coroutine."""

from __future__ import annotations

import tally
import wire

from emq_sql import EMQ

emq = EMQ(wire.DSN)

if wire.SETTING.get("async"):

    @emq.task(name="noop")
    async def noop(n: int, pad: str) -> None:
        tally.ran(n)

else:

    @emq.task(name="noop")
    def noop(n: int, pad: str) -> None:
        tally.ran(n)
