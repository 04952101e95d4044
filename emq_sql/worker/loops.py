"""Threads that must not die: each control loop is started again when it raises."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from time import monotonic
from typing import Protocol

from emq_sql.errors import EmqError, LoopFailed
from emq_sql.protocol.patience import Patience
from emq_sql.worker.pulse import LoopName, Pulse

log = logging.getLogger("emq_sql.worker.loops")

MOST_FAILURES = 8  # one soon after the other: half a minute, more or less
STEADY = 60.0  # seconds without a failure after which the former ones are forgotten


class Body(Protocol):
    """What a loop does. `run` returns after `stop`, which any thread may call, and never before."""

    def run(self) -> None:
        """Until `stop`."""

    def stop(self) -> None:
        """Let `run` return soon."""


class Loop:
    """Runs a body in a thread of its own, and starts it again, with growing pauses, when it raises.

    A body that goes on failing is given up: `lost` is called with the LoopFailed that says so, and
    the process should end, since a worker without its keeper or its upkeep looks alive and is not.
    What a loop can wait out by itself (a database that is away) is no failure.
    """

    def __init__(
        self, name: LoopName, body: Body, pulse: Pulse, lost: Callable[[EmqError], None]
    ) -> None:
        self._name = name
        self._body = body
        self._pulse = pulse
        self._lost = lost
        self._patience = Patience()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._keep, name=f"emq-{name}", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._pulse.beat(self._name)
        self._thread.start()

    def stop(self, seconds: float = 0.0) -> None:
        """End the thread; waits for it at most so long."""
        self._stopped.set()
        self._body.stop()
        if self._thread.is_alive():
            self._thread.join(seconds)

    def _keep(self) -> None:
        while (failure := self._run_once()) is not None:
            if self._patience.failures + 1 >= MOST_FAILURES:
                return self._give_up(failure)
            pause = self._patience.pause()
            self._pulse.restarts(self._name, pause, failure)
            if self._stopped.wait(pause):
                break
        return self._pulse.ends(self._name)

    def _run_once(self) -> str | None:
        """What went wrong, or None when the loop ended because it was told to."""
        began = monotonic()
        try:
            self._body.run()
        except BaseException as error:  # SystemExit too would end it without a word
            failure = f"{type(error).__name__}: {error}"
            log.exception("the loop %s failed and is started again", self._name)
        else:
            if self._stopped.is_set():
                return None
            failure = "it ended, and nobody had told it to"
            log.error("the loop %s ended by itself and is started again", self._name)
        if monotonic() - began > STEADY:
            self._patience.succeeded()
        return failure

    def _give_up(self, failure: str) -> None:
        self._pulse.ends(self._name, failed=True)
        self._lost(
            LoopFailed(
                f"The loop {self._name!r} of this worker cannot be kept alive: it failed"
                f" {MOST_FAILURES} times in a row, the last time with {failure}",
                hint="The log has the tracebacks. Start the worker again.",
            )
        )
