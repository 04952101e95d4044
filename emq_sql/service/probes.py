"""Where a worker answers the question how it is."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from emq_sql.errors import EmqError
from emq_sql.rules.durations import duration
from emq_sql.worker.health.condition import LIVE_WITHIN
from emq_sql.worker.health.file import HealthFile
from emq_sql.worker.health.listener import Listener, open_socket
from emq_sql.worker.health.report import Facts, Reporter
from emq_sql.worker.loops import Loop
from emq_sql.worker.pulse import Pulse


@dataclass(frozen=True, slots=True)
class Probes:
    """A port for HTTP, a file, both, or neither.

    A control loop that is later than `live_within` makes the worker not live.
    """

    port: int | None = None
    host: str = "127.0.0.1"
    file: Path | None = None
    live_within: timedelta = LIVE_WITHIN

    def opened(self) -> Health:
        """With the port taken, so that nobody else can have it. Raises BadSetting or BadTime."""
        duration(self.live_within, "live within")
        listening = None if self.port is None else open_socket(self.host, self.port)
        return Health(listening, self.file, self.live_within)


class Health:
    """The loops that answer; `close` gives the port back."""

    def __init__(
        self, listening: socket.socket | None, file: Path | None, live_within: timedelta
    ) -> None:
        self._listening = listening
        self._file = file
        self._live_within = live_within

    def loops(self, facts: Facts, pulse: Pulse, lost: Callable[[EmqError], None]) -> list[Loop]:
        """One for each way to ask. Raises BadSetting when the file cannot be written."""
        report = Reporter(facts, pulse, self._live_within)
        loops = []
        if self._listening is not None:
            listener = Listener(self._listening, report, pulse)
            loops.append(Loop("health", listener, pulse, lost))
        if self._file is not None:
            file = HealthFile(self._file, report, pulse)
            file.check()
            loops.append(Loop("health-file", file, pulse, lost))
        return loops

    def close(self) -> None:
        """Nobody is answered any more."""
        if self._listening is not None:
            self._listening.close()
