"""Puts on record what handlers were refused, after the transactions that met it are rolled back."""

from __future__ import annotations

import logging
from collections import Counter
from datetime import timedelta
from time import monotonic

from emq_sql.errors import Ambiguous, BadInput, EmqError, Refused, SchemaError
from emq_sql.protocol import holding
from emq_sql.protocol.link import Link
from emq_sql.protocol.patience import Patience
from emq_sql.worker.notes import Note, Notes
from emq_sql.worker.pulse import Pulse

log = logging.getLogger("emq_sql.worker.refusals")

BATCH = 500


class Refusals:
    """Sends the notes of handlers in batches; each stays until the database has answered.

    A database that is away is waited for, and what is sent again is not recorded twice. What the
    server refuses to record is told in the log and given up: it stops no work.
    """

    def __init__(self, link: Link, schema: str, notes: Notes, pulse: Pulse) -> None:
        self._link = link
        self._schema = schema
        self._notes = notes
        self._pulse = pulse
        self._batch: list[Note] = []
        self._again = False
        self._again_at = 0.0
        self._patience = Patience()

    def __len__(self) -> int:
        return len(self._batch) + len(self._notes)

    def next_due(self) -> float:
        """The monotonic instant at which there is something to send."""
        return self._again_at if len(self) else float("inf")

    def send(self, now: float) -> None:
        """Send what there is, unless the pause after a failed try is not over; raises nothing."""
        while len(self) and now >= self._again_at:
            if not self._batch:
                self._batch = self._notes.take(BATCH)
                for verb, n in Counter(note.verb for note in self._batch).items():
                    self._pulse.refuses("main", verb, n)
            try:
                self._record()
            except (Refused, BadInput, SchemaError) as error:
                log.error("%d refusals cannot be put on record: %s", len(self._batch), error)
                self._batch = []
            except EmqError as error:
                self._again = self._again or isinstance(error, Ambiguous)
                self._again_at = now + self._patience.pause()
                log.debug("refusals cannot be put on record yet: %s", error)
                return
            else:
                self._batch, self._again = [], False
                self._patience.succeeded()
                self._say_dropped()

    def give_up(self) -> None:
        """At the end: say how many never came on record."""
        if left := len(self):
            log.error("%d refusals are not on record: the database could not be asked", left)
        self._say_dropped()

    def _record(self) -> None:
        sent = monotonic()
        leases, verbs = [n.lease for n in self._batch], [n.verb for n in self._batch]
        ago = [timedelta(seconds=max(sent - n.at, 0.0)) for n in self._batch]
        self._link.call(
            lambda conn: holding.note_refusals(
                conn, self._schema, leases, verbs, ago, again=self._again
            )
        )

    def _say_dropped(self) -> None:
        if dropped := self._notes.take_dropped():
            log.error("%d older refusals were dropped: they could not be recorded in time", dropped)
