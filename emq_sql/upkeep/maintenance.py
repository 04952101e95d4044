"""Upkeep about once a second, from a thread of any worker."""

from __future__ import annotations

import logging
import os
import threading
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
        self._stopped = threading.Event()
        self._patience = Patience()
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
                if self._patience.failures:
                    log.info("upkeep goes on")
                self._patience.succeeded()
            except EmqError as error:
                self._trouble(error)
                continue
            except Exception as error:
                log.exception("upkeep failed and goes on")
                self._trouble(error)
                continue
            if not full:
                self._stopped.wait(self._patience.jittered(self._interval))
        self._link.close()

    def _pass(self) -> bool:
        done = self._link.call(lambda conn: upkeep.maintain(conn, self._schema, LIMIT))
        if done.recovered or done.dead:
            log.warning("leases expired: %d jobs put back, %d dead", done.recovered, done.dead)
        return done.promoted >= LIMIT or done.recovered + done.dead >= LIMIT

    def _trouble(self, error: Exception) -> None:
        pause = self._patience.pause()
        if self._patience.failures == 1:
            log.warning("upkeep waits for the database: %s", error)
        self._stopped.wait(pause)
