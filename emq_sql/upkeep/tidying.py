"""Retention, step by step, beside the passes of upkeep and never in their way."""

from __future__ import annotations

import logging
from datetime import timedelta
from time import monotonic

from emq_sql.errors import EmqError
from emq_sql.protocol import upkeep
from emq_sql.protocol.link import Link
from emq_sql.protocol.patience import Patience

log = logging.getLogger("emq_sql.upkeep")

LIMIT = 2000  # rows a step
LONGEST_STEP = 10.0  # seconds; meanwhile whoever calls makes no pass
EVERY = timedelta(minutes=1)  # when there is nothing to do
_BETWEEN_STEPS = timedelta(seconds=0.1)


class Tidying:
    """Knows when the next step is `due` (on the monotonic clock), and makes it.

    A step that did something is followed by another one soon, one that found nothing after about
    `every`; so is one that failed, which is said once. Trouble here is never raised.
    """

    def __init__(self, schema: str, every: timedelta = EVERY) -> None:
        self._schema = schema
        self._every = every
        self._patience = Patience()
        self._said = ("", "")
        # A worker that lives for a moment has better things to do.
        self.due = monotonic() + self._patience.jittered(every) / 2

    def step(self, link: Link) -> None:
        """One step, committed."""
        try:
            done = link.call(lambda conn: upkeep.tidy(conn, self._schema, LIMIT), LONGEST_STEP)
        except EmqError as error:
            level = logging.DEBUG if self._patience.failures else logging.WARNING
            log.log(level, "what is old stays for now, recovery goes on: %s", error)
            self._patience.failures += 1
            self._next(self._every)
            return
        if self._patience.failures:
            log.info("what is old is tidied again")
        self._patience.succeeded()
        if done.what:
            self._say(done.did, done.what)
        self._next(self._every if done.idle else _BETWEEN_STEPS)

    def _next(self, pause: timedelta) -> None:
        self.due = monotonic() + self._patience.jittered(pause)

    def _say(self, did: str, what: str) -> None:
        level = logging.DEBUG if (did, what) == self._said else logging.INFO
        self._said = (did, what)
        log.log(level, "tidying: %s %s", did, what)
