"""Watches the clock for leases that lapse and runs that take too long."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from time import monotonic

from emq_sql.rules import verdict
from emq_sql.worker.endings import Ending
from emq_sql.worker.entry import Entry
from emq_sql.worker.held import Held
from emq_sql.worker.pulse import Pulse
from emq_sql.worker.telling import tell

LONGEST_WAIT = 10.0  # so that it is known to be alive


class Watch:
    """Talks to no database, so a connection that hangs cannot keep it from telling handlers.

    A lapsed lease (no extension for its whole length) cancels the handler and stops the claiming. A
    run over its timeout is ended by `stop`, as a failure.
    """

    def __init__(self, held: Held, stop: Callable[[Entry, Ending], None], pulse: Pulse) -> None:
        self._held = held
        self._stop = stop
        self._pulse = pulse
        self._rng = random.Random()  # noqa: S311 - jitter, not a secret
        self._stopped = False

    def stop(self) -> None:
        """Let `run` return soon."""
        self._stopped = True
        self._held.poke()

    def run(self) -> None:
        """Until `stop`."""
        while not self._stopped:
            version = self._held.version()
            now = monotonic()
            lapsed, timed_out, soonest = self._held.take_expired(now)
            for entry in lapsed:
                tell(entry, "lease lost", "no extension within its lease")
            for entry in timed_out:
                self._time_out(entry)
            if not self._held.keeping:
                self._pulse.keeps(leases=False)
            until = LONGEST_WAIT if soonest is None else soonest - now
            wait = min(max(until, 0.0), LONGEST_WAIT)
            self._pulse.beat("watch", wait)
            self._held.wait("watch", version, wait)

    def _time_out(self, entry: Entry) -> None:
        timeout = entry.handler.timeout if entry.handler else None
        if timeout is None or not self._held.decide(entry):
            return
        tell(entry, "timed out", f"after {_shown(timeout)}")
        error = TimeoutError(f"timed out after {_shown(timeout)}")
        policy = entry.handler.backoff if entry.handler else None
        failures = entry.claimed.failures
        self._stop(entry, verdict.raised(error, failures, policy, self._rng, "timeout"))


def _shown(length: timedelta) -> str:
    return f"{length.total_seconds():g} s"
