"""Upkeep about once a second, from any worker."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta

from emq_sql.errors import EmqError
from emq_sql.protocol import upkeep
from emq_sql.protocol.link import Connect, Link
from emq_sql.protocol.patience import Patience

log = logging.getLogger("emq_sql.upkeep")

LIMIT = 1000
LONGEST_PASS = 60.0  # seconds; a pass that is cut short has done nothing, so this is ample


class Maintenance:
    """Reaps, promotes and makes partitions until it is stopped, on its own connection.

    Any number may run at once: one does the work and the others answer at once. A pass that was
    full is followed by the next one without a pause. While the database is away it is tried again,
    with growing, jittered pauses of 10 seconds at most. Before each wait `beat` is told its length
    and the trouble that it waits out; `around()` is entered for as long as the server is asked.
    """

    def __init__(
        self,
        connect: Connect,
        schema: str,
        interval: timedelta = timedelta(seconds=1),
        who: str | None = None,
        beat: Callable[[float, EmqError | None], None] = lambda _within, _trouble: None,
        around: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._link = Link(connect, f"emq upkeep {who or os.getpid()}", LONGEST_PASS, around)
        self._beat = beat
        self._schema = schema
        self._interval = interval
        self._stopped = threading.Event()
        self._patience = Patience()

    def stop(self) -> None:
        """Let `run` return soon."""
        self._stopped.set()

    def run(self) -> None:
        """Until `stop`."""
        try:
            self._maintain_in_turn()
        finally:
            self._link.close()

    def _maintain_in_turn(self) -> None:
        while not self._stopped.is_set():
            try:
                full = self._pass()
                if self._patience.failures:
                    log.info("upkeep goes on")
                self._patience.succeeded()
            except EmqError as error:
                self._trouble(error)
                continue
            if not full:
                pause = self._patience.jittered(self._interval)
                self._beat(pause, None)
                self._stopped.wait(pause)

    def _pass(self) -> bool:
        done = self._link.call(lambda conn: upkeep.maintain(conn, self._schema, LIMIT))
        if done.recovered or done.dead:
            log.warning("leases expired: %d jobs put back, %d dead", done.recovered, done.dead)
        return done.promoted >= LIMIT or done.recovered + done.dead >= LIMIT

    def _trouble(self, error: EmqError) -> None:
        pause = self._patience.pause()
        self._beat(pause, error)
        if self._patience.failures == 1:
            log.warning("upkeep waits for the database: %s", error)
        self._stopped.wait(pause)
