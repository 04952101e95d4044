"""Upkeep about once a second, from a thread of any worker."""

from __future__ import annotations

import logging
import os
import random
import threading
from datetime import timedelta

from emq_sql.errors import EmqError
from emq_sql.protocol import upkeep
from emq_sql.protocol.link import Connect, Link
from emq_sql.rules.backoff import Backoff, delay

log = logging.getLogger("emq_sql.upkeep")

LIMIT = 1000
LONGEST_PASS = 60.0  # seconds; a pass that is cut short has done nothing, so this is ample
_PAUSE = Backoff.exponential(0.1, cap=timedelta(seconds=10), minimum=0.02)


class Maintenance:
    """Reaps, promotes and makes partitions until it is stopped, on its own connection.

    Any number may run at once: one does the work and the others answer at once. A pass that was
    full is followed by the next one without a pause. Trouble is logged and tried again, with
    growing, jittered pauses of 10 seconds at most; nothing ends the thread but `stop`.
    """

    def __init__(
        self,
        connect: Connect,
        schema: str,
        interval: timedelta = timedelta(seconds=1),
        who: str | None = None,
    ) -> None:
        self._link = Link(connect, f"emq upkeep {who or os.getpid()}", LONGEST_PASS)
        self._schema = schema
        self._interval = interval
        self._rng = random.Random()  # noqa: S311 - jitter, not a secret
        self._stopped = threading.Event()
        self._failures = 0
        self._thread = threading.Thread(target=self._run, name="emq-upkeep", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, seconds: float = 5.0) -> None:
        """End the thread; waits for it at most so long."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(seconds)

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                full = self._pass()
                if self._failures:
                    log.info("upkeep goes on")
                self._failures = 0
            except EmqError as error:
                self._trouble(error)
                continue
            except Exception as error:
                log.exception("upkeep failed and goes on")
                self._trouble(error)
                continue
            if not full:
                self._stopped.wait(self._interval.total_seconds() * self._rng.uniform(0.75, 1.25))
        self._link.close()

    def _pass(self) -> bool:
        done = self._link.call(lambda conn: upkeep.maintain(conn, self._schema, LIMIT))
        if done.recovered or done.dead:
            log.warning("leases expired: %d jobs put back, %d dead", done.recovered, done.dead)
        return done.promoted >= LIMIT or done.recovered + done.dead >= LIMIT

    def _trouble(self, error: Exception) -> None:
        self._failures += 1
        if self._failures == 1:
            log.warning("upkeep waits for the database: %s", error)
        self._stopped.wait(delay(_PAUSE, self._failures, self._rng).total_seconds())
