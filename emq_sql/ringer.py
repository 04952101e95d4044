"""Rings the bell after jobs were committed, so that a parked worker need not wait for its poll."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from collections.abc import Callable, Iterable
from time import monotonic, sleep

from emq_sql.protocol.commits import Over
from emq_sql.protocol.patience import Patience

log = logging.getLogger("emq_sql.ringer")

EVERY = 0.05  # seconds between two rings on average: what comes meanwhile goes with the next one
BURST = 10  # rings that may go out sooner, if there were few before: who adds a job now and then
LINGER = 5.0  # seconds after which a thread with nothing to do ends; the next ring starts another
AT_EXIT = 0.5  # seconds that the end of the process may wait for the last rings

_TRIES = 2  # a pooled connection may be one that a restart of the server has broken
_LONGEST_PAUSE = 2.0
_LOOK = 0.001  # seconds between the first looks at whether a commit is over
_LONGEST_COMMIT = 30.0  # seconds after which it is rung for in any case: a hint too many


class Ringer:
    """Calls `ring(queues)` for the queues that it is told of, in a thread of its own.

    A call comes at once while there were few, then one each EVERY seconds, and every queue told of
    is rung for after it was told. Rings are hints: whatever goes wrong with one is logged at debug
    and nobody else is told, since jobs are found by polling. Nothing here makes a caller wait.
    """

    def __init__(self, ring: Callable[[list[str]], object]) -> None:
        self._ring = ring
        self._patience = Patience()
        self._begin()
        _all.add(self)

    def ring(self, queues: Iterable[str], over: Over | None = None) -> None:
        """Ring soon, or soon after `over()` has become true: that a commit has ended."""
        if self._process != os.getpid():  # a fork left the thread behind, and perhaps a held lock
            self._begin()
        with self._changed:
            if over is None:
                self._queues.update(queues)
            else:
                self._commits.append((frozenset(queues), over, monotonic() + _LONGEST_COMMIT))
            self._changed.notify_all()
            if self._thread is None:
                self._start()

    def flush(self, seconds: float) -> bool:
        """Wait until all that was told of is rung for, at most so long; whether it is."""
        until = monotonic() + seconds
        with self._changed:
            while self._process == os.getpid() and self._thread is not None and self._busy():
                if not self._changed.wait(until - monotonic()):
                    return False
        return True

    def _begin(self) -> None:
        self._changed = threading.Condition()
        self._queues: set[str] = set()
        self._commits: list[tuple[frozenset[str], Over, float]] = []
        self._ringing = False
        self._thread: threading.Thread | None = None
        self._process = os.getpid()

    def _busy(self) -> bool:
        return self._ringing or bool(self._queues) or bool(self._commits)

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name="emq-ringer", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # at the very end of the process
            log.debug("no thread can ring the bell any more", exc_info=True)
        else:
            self._thread = thread

    def _run(self) -> None:
        allowed, since = float(BURST), monotonic()
        while queues := self._next():
            now = monotonic()
            allowed, since = min(allowed + (now - since) / EVERY, BURST) - 1, now
            pause = max(1 - allowed, 0.0) * EVERY
            if not self._rung(queues):
                pause = max(pause, min(self._patience.pause(), _LONGEST_PAUSE))
            with self._changed:
                self._ringing = False
                self._changed.notify_all()
            sleep(pause)

    def _next(self) -> list[str]:
        """The queues to ring for, when there are some; none when it is time to end."""
        look = _LOOK
        with self._changed:
            while True:
                self._take_commits(monotonic())
                if self._queues:
                    queues, self._queues, self._ringing = self._queues, set(), True
                    return sorted(queues)
                if self._changed.wait(look if self._commits else LINGER):
                    look = _LOOK
                elif self._commits:
                    look = min(2 * look, EVERY)
                elif not self._queues:
                    self._thread = None
                    return []

    def _take_commits(self, now: float) -> None:
        waiting = []
        for queues, over, until in self._commits:
            if over() or now > until:
                self._queues |= queues
            else:
                waiting.append((queues, over, until))
        self._commits = waiting

    def _rung(self, queues: list[str]) -> bool:
        for _ in range(_TRIES):
            try:
                self._ring(queues)
            except Exception:
                log.debug("nobody was rung for %s", ", ".join(queues), exc_info=True)
            else:
                self._patience.succeeded()
                return True
        return False


_all: weakref.WeakSet[Ringer] = weakref.WeakSet()


@atexit.register
def _flush_all() -> None:
    until = monotonic() + AT_EXIT
    for ringer in list(_all):
        ringer.flush(max(until - monotonic(), 0.0))
