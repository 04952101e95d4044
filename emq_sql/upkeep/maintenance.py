"""Upkeep about once a second, from any worker."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from time import monotonic
from typing import Any

import psycopg

from emq_sql.errors import EmqError
from emq_sql.job import Maintained
from emq_sql.protocol import upkeep
from emq_sql.protocol.link import Connect, Link
from emq_sql.protocol.patience import Patience
from emq_sql.upkeep import tidying
from emq_sql.upkeep.tidying import Tidying

log = logging.getLogger("emq_sql.upkeep")

LIMIT = 1000
LONGEST_PASS = 60.0  # seconds; a pass that is cut short has done nothing, so this is ample
FRESH = 0.7  # of the interval: a pass of anybody's that is younger will do


class Maintenance:
    """Reaps, promotes, makes partitions and tidies until it is stopped, on its own connection.

    Any number may run at once: each asks about once an `interval`, and together they make about one
    pass in it. A pass that was full is followed by the next one without a pause. `moved` is called
    when one has put jobs into the line. While the database is away it is tried again, with growing,
    jittered pauses of 10 seconds at most. Before each wait `beat` is told its length and the
    trouble that it waits out; `around()` is entered for as long as the server is asked. What is old
    is tidied about once in `tidy_every`, step by step, with passes in between.
    """

    def __init__(
        self,
        connect: Connect,
        schema: str,
        interval: timedelta = timedelta(seconds=1),
        who: str | None = None,
        beat: Callable[[float, EmqError | None], None] = lambda _within, _trouble: None,
        around: Callable[[], AbstractContextManager[None]] = nullcontext,
        moved: Callable[[], None] = lambda: None,
        tidy_every: timedelta = tidying.EVERY,
    ) -> None:
        self._link = Link(connect, f"emq upkeep {who or os.getpid()}", LONGEST_PASS, around)
        self._beat = beat
        self._schema = schema
        self._interval = interval
        self._moved = moved
        self._errand: Callable[[psycopg.Connection[Any]], None] | None = None
        self._stopped = False
        self._woken = threading.Event()
        self._patience = Patience()
        self._tidying = Tidying(schema, tidy_every)
        self._errand_failed = False

    def stop(self) -> None:
        """Let `run` return soon."""
        self._stopped = True
        self._woken.set()

    def cut_short(self, seconds: float) -> None:
        """Let `run` return now: what is under way is given up, undone, after so long at most.

        Any thread and any signal handler may ask.
        """
        self._link.hurry(seconds)
        self.stop()

    def errand(self, do: Callable[[psycopg.Connection[Any]], None]) -> None:
        """Call `do(connection)` soon, once, in the thread and on the connection of upkeep.

        Another errand takes its place if it was not done yet. Trouble with the database ends it,
        and says nothing of upkeep. Any thread may ask.
        """
        self._errand = do
        self._woken.set()

    def run(self) -> None:
        """Until `stop`."""
        try:
            self._maintain_in_turn()
        finally:
            self._link.close()

    def _maintain_in_turn(self) -> None:
        due, at_once = 0.0, False
        while not self._stopped:
            self._run_errand()
            if due <= monotonic():
                try:
                    at_once = self._pass(timedelta(0) if at_once else FRESH * self._interval)
                except EmqError as error:
                    due = self._trouble(error)
                else:
                    due = self._next(at_once=at_once)
            elif self._tidying.due <= monotonic() and not self._patience.failures:
                self._tidying.step(self._link)
            self._wait(self._due(due))

    def _due(self, due: float) -> float:
        return due if self._patience.failures else min(due, self._tidying.due)

    def _run_errand(self) -> None:
        errand, self._errand = self._errand, None
        if errand is None:
            return
        try:
            self._link.call(errand)
        except EmqError as error:
            level = logging.DEBUG if self._errand_failed else logging.WARNING
            log.log(level, "the bell cannot be rung to see whether it is heard: %s", error)
            self._errand_failed = True
        else:
            if self._errand_failed:
                log.info("the bell can be rung again")
            self._errand_failed = False

    def _wait(self, due: float) -> None:
        """Until then, an errand, or `stop`."""
        if not self._stopped:
            self._woken.wait(max(due - monotonic(), 0.0))
            self._woken.clear()

    def _next(self, *, at_once: bool) -> float:
        if self._patience.failures:
            log.info("upkeep goes on")
        self._patience.succeeded()
        pause = 0.0 if at_once else self._patience.jittered(self._interval)
        self._beat(pause, None)
        return monotonic() + pause

    def _pass(self, every: timedelta) -> bool:
        done = self._link.call(lambda conn: upkeep.maintain_due(conn, self._schema, every, LIMIT))
        if done.promoted or done.recovered:
            self._moved()
        if done.recovered or done.dead:
            log.warning("leases expired: %d jobs put back, %d dead", done.recovered, done.dead)
        return full(done)

    def _trouble(self, error: EmqError) -> float:
        pause = self._patience.pause()
        self._beat(pause, error)
        if self._patience.failures == 1:
            log.warning("upkeep waits for the database: %s", error)
        return monotonic() + pause


def full(done: Maintained) -> bool:
    """Whether a pass found as much as it could take, so that the next one should follow at once."""
    return done.promoted >= LIMIT or done.recovered + done.dead >= LIMIT
