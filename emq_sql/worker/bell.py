"""Listens for the bell; without it, jobs are found by polling."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from emq_sql.errors import EmqError
from emq_sql.protocol import bell
from emq_sql.protocol.link import Link
from emq_sql.protocol.patience import Patience
from emq_sql.worker.pulse import Pulse

log = logging.getLogger("emq_sql.worker.bell")

_LOOK_UP = 0.5  # seconds between two looks at whether it should stop; no statement is sent


class Bell:
    """Calls `rung(queue)` when a queue was rung for, and `rung(None)` after each new LISTEN.

    It listens first and asks for a poll then: what was enqueued before is found by the poll, and
    what comes after rings.
    """

    def __init__(
        self, link: Link, schema: str, rung: Callable[[str | None], None], pulse: Pulse
    ) -> None:
        self._link = link
        self._schema = schema
        self._rung = rung
        self._pulse = pulse
        self._patience = Patience()
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Let `run` return soon."""
        self._stopped.set()

    def run(self) -> None:
        """Until `stop`."""
        try:
            self._listen_in_turn()
        finally:
            self._pulse.hears(bell=False)
            self._link.close()

    def _listen_in_turn(self) -> None:
        while not self._stopped.is_set():
            try:
                self._listen()
            except EmqError as error:
                if not self._patience.failures:
                    log.warning("the bell is not heard, jobs are found by polling: %s", error)
                self._link.close()
                pause = self._patience.pause()
                self._pulse.hears(bell=False)
                self._pulse.beat("bell", pause, error)
                self._stopped.wait(pause)

    def _listen(self) -> None:
        connection = self._link.connection()
        bell.listen(connection, self._schema)
        self._patience.succeeded()
        self._pulse.hears(bell=True)
        self._rung(None)
        while not self._stopped.is_set():
            self._pulse.beat("bell", _LOOK_UP)
            for queue in bell.heard(connection, _LOOK_UP):
                self._rung(queue)
