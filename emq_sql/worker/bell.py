"""Listens for the bell; without it, jobs are found by polling."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Collection
from contextlib import suppress
from time import monotonic
from uuid import UUID

from emq_sql.errors import EmqError
from emq_sql.protocol import bell
from emq_sql.protocol.link import Link
from emq_sql.protocol.patience import Patience
from emq_sql.worker.proof import WITHIN, Errand, Proof
from emq_sql.worker.pulse import Pulse

log = logging.getLogger("emq_sql.worker.bell")

_LONGEST_WAIT = 5.0  # seconds between two looks around; no statement is sent
_STEADY = 5.0  # seconds that a connection must have lasted to be made anew without a pause
_RETRY = 600.0  # seconds until a connection that hears nothing is tried again


class Bell:
    """Calls `rung(queue)` when one of `queues` was rung for, and `of_job(id)` when somebody has
    done something about that job, wherever it runs.

    It listens, waits until a ring of the worker's own has been heard, parks for the queues that
    `park` names, and then calls `rung(None)` for a look into all of them: what was enqueued before
    is found by that look, and what comes after rings. After each new connection it does the same. A
    connection that falls silent is found out, at the price of a ring a minute when nobody rings.
    """

    def __init__(
        self, link: Link, schema: str, queues: Collection[str],
        rung: Callable[[str | None], None], pulse: Pulse, errand: Errand,
        of_job: Callable[[UUID], None] = lambda _: None,
    ) -> None:  # fmt: skip
        self._link = link
        self._schema = schema
        self._queues = frozenset(queues)
        self._rung = rung
        self._of_job = of_job
        self._pulse = pulse
        self._proof = Proof(errand, schema, self._poke)
        self._patience = Patience()
        self._wanted: frozenset[str] = frozenset()
        self._heard = False
        self._last = bell.LastWords()
        self._lost_before = self._deaf_before = self._said = False
        self._stopped = threading.Event()
        self._settled = threading.Event()
        self._poker, self._poked = socket.socketpair()
        for end in (self._poker, self._poked):
            end.setblocking(False)

    @property
    def heard(self) -> bool:
        """Whether rings are heard now. Any thread may ask."""
        return self._heard

    def settled(self, seconds: float) -> bool:
        """Wait until it is known whether rings are heard, at most so long; whether they are."""
        self._settled.wait(seconds)
        return self._heard

    def park(self, queues: frozenset[str]) -> None:
        """Jobs of these queues, and of no others, are waited for. Any thread may say so."""
        self._wanted = queues
        self._poke()

    def stop(self) -> None:
        """Let `run` return soon."""
        self._stopped.set()
        self._poke()

    def run(self) -> None:
        """Until `stop`."""
        try:
            while not self._stopped.is_set():
                began, self._last = monotonic(), bell.LastWords()
                try:
                    self._listen()
                except EmqError as error:
                    self._lost(error, monotonic() - began)
                finally:
                    self._says(heard=False)
                    self._link.close()
        finally:
            self._settled.set()
            if self._stopped.is_set():
                self._poker.close()
                self._poked.close()

    def _listen(self) -> None:
        self._last = self._link.call(lambda conn: bell.listen(conn, self._schema))
        self._proof.begin(monotonic())
        parked: frozenset[str] | None = None
        while not self._stopped.is_set():
            if self._heard and parked != self._wanted:
                parked = self._parked(parked)
            if not self._proof.look(monotonic()):
                return self._silent() if self._heard else self._deaf()
            self._hear()
        return None

    def _parked(self, before: frozenset[str] | None) -> frozenset[str]:
        wanted = self._wanted
        if wanted or before:
            self._link.call(lambda conn: bell.park(conn, self._schema, sorted(wanted)))
        if before is None:
            self._rung(None)
        else:
            for queue in wanted - before:
                self._rung(queue)
        return wanted

    def _hear(self) -> None:
        wait = max(min(self._proof.due - monotonic(), _LONGEST_WAIT), 0.0)
        self._pulse.beat("bell", wait)
        for queue in bell.heard(self._link.connection(), wait, self._poked.fileno()):
            if self._proof.come(queue, monotonic()):
                self._says(heard=True)
            elif queue in self._queues:
                self._rung(queue)
            elif (job := bell.job_rung(queue)) is not None:
                self._of_job(job)
        with suppress(BlockingIOError):
            self._poked.recv(4096)

    def _says(self, *, heard: bool) -> None:
        if heard and not self._heard and self._said:
            log.info("the bell is heard again")
            self._said = self._deaf_before = False
        self._heard = heard
        self._pulse.hears(bell=heard)
        if heard:
            self._settled.set()

    def _lost(self, error: EmqError, lasted: float) -> None:
        why = self._last.said or error
        if self._heard:
            level = logging.DEBUG if self._lost_before else logging.WARNING
            log.log(level, "the bell's connection was lost and is made anew: %s", why)
            self._lost_before = True
            if lasted > _STEADY:
                return self._patience.succeeded()
        elif not self._said:
            log.warning("the bell is not heard, jobs are found by polling: %s", why)
            self._said = True
        self._settled.set()
        return self._wait(self._patience.pause(), error)

    def _silent(self) -> None:
        log.debug("the bell's connection fell silent and is made anew")

    def _deaf(self) -> None:
        why = self._link.call(self._proof.why_not)
        level = logging.DEBUG if self._deaf_before else logging.WARNING
        log.log(
            level,
            "the bell is not heard, jobs are found by polling: a NOTIFY of the main connection did"
            " not arrive at the listening one within %g s. %s", WITHIN, why,
        )  # fmt: skip
        self._deaf_before = self._said = True
        self._settled.set()
        self._link.call(lambda conn: bell.unlisten(conn, self._schema))
        self._link.close()
        self._wait(_RETRY, None)

    def _wait(self, seconds: float, trouble: EmqError | None) -> None:
        self._says(heard=False)
        self._link.close()
        self._pulse.beat("bell", seconds, trouble)
        self._stopped.wait(seconds)

    def _poke(self) -> None:
        with suppress(OSError):  # full: it is poked already
            self._poker.send(b"!")
