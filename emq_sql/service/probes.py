"""Where a worker answers the question how it is."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from emq_sql.errors import BadSetting, EmqError
from emq_sql.rules.durations import duration
from emq_sql.worker.health.condition import LIVE_WITHIN, READY_WITHIN, Bounds
from emq_sql.worker.health.file import HealthFile
from emq_sql.worker.health.listener import Listener, open_socket
from emq_sql.worker.health.report import Facts, Reporter
from emq_sql.worker.loops import Loop
from emq_sql.worker.pulse import Pulse


@dataclass(frozen=True, slots=True)
class Probes:
    """A port for HTTP, a file, both, or neither.

    `live_within` is how late a control loop may be, `ready_within` how long ago the last claim that
    was answered: three polls and ten seconds, when left out.
    """

    port: int | None = None
    host: str = "127.0.0.1"
    file: Path | None = None
    live_within: timedelta = LIVE_WITHIN
    ready_within: timedelta | None = None

    def opened(self, poll: timedelta) -> Health:
        """With the port taken, so that nobody else can have it. Raises BadSetting or BadTime."""
        ready = 3 * poll + READY_WITHIN if self.ready_within is None else self.ready_within
        bounds = Bounds(duration(self.live_within, "live within"), duration(ready, "ready within"))
        if ready < 2 * poll:
            what = f"ready within ({ready.total_seconds():g} s) is under two polls"
            raise BadSetting(
                f"{what} ({poll.total_seconds():g} s each), so an idle worker would not be ready.",
                hint="Make it longer, leave it out, or shorten poll.",
            )
        listening = None if self.port is None else open_socket(self.host, self.port)
        return Health(listening, self.file, bounds)


class Health:
    """The loops that answer; `close` gives the port back."""

    def __init__(self, listening: socket.socket | None, file: Path | None, bounds: Bounds) -> None:
        self._listening = listening
        self._file = file
        self._bounds = bounds

    def loops(self, facts: Facts, pulse: Pulse, lost: Callable[[EmqError], None]) -> list[Loop]:
        """One for each way to ask. Raises BadSetting when the file cannot be written."""
        report = Reporter(facts, pulse, self._bounds)
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
