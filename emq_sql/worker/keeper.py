"""Extends the leases of all held jobs, in a loop and on a connection of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

import psycopg

from emq_sql.crashpoints import crash_point
from emq_sql.errors import EmqError, Refused, SchemaError
from emq_sql.job import Decided, KeepAnswer
from emq_sql.protocol import holding, settling
from emq_sql.protocol.link import Link
from emq_sql.protocol.patience import Patience
from emq_sql.worker.endings import Ending, is_own_end
from emq_sql.worker.entry import Ask, Entry
from emq_sql.worker.held import Held
from emq_sql.worker.pulse import Pulse
from emq_sql.worker.telling import tell

log = logging.getLogger("emq_sql.worker.keeper")

SEEN_EVERY = 10.0
MOST_REFUSALS = 10  # in a row: about half a minute
SHORTEST_CALL = 2.0  # seconds; a busy database is no dead one
IDLE_CALL = 5.0  # seconds at most for what extends nothing: jobs may be claimed meanwhile


class Keeper:
    """Every held job is extended at a third of its lease; one busy row delays no other.

    The same statement says what operators want: whose lease is lost or cancelled is told, and then
    ended by `stop`; paused queues are written down. A loss is a normal thing and ends nothing else.
    Idle it sends little but `seen`, every ten seconds. `changed` is called when claiming may go
    on, after a time in which no extension came through, and when the server has refused so often
    that there is no hope: `gave_up` then says why, and nobody should hold leases here.
    """

    def __init__(
        self,
        link: Link,
        schema: str,
        held: Held,
        queues: Sequence[str],
        stop: Callable[[Entry, Ending | None], None],
        stop_sql: Callable[[Entry], None],
        seen: Callable[[psycopg.Connection[Any]], None],
        changed: Callable[[], None],
        pulse: Pulse,
    ) -> None:
        self._link = link
        self._schema = schema
        self._held = held
        self._queues = queues
        self._stop = stop
        self._stop_sql = stop_sql
        self._cancelled: list[Entry] = []
        self._seen = seen
        self._seen_due = 0.0
        self._unseen = self._doubtful = False
        self._shortest = float("inf")
        self._changed = changed
        self._pulse = pulse
        self._patience = Patience()
        self._refusals = 0
        self.gave_up: EmqError | None = None
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Let `run` return soon."""
        self._stopped.set()
        self._held.poke()

    def run(self) -> None:
        """Until `stop`. While it does not run, nothing more is claimed."""
        try:
            self._extend_in_turn()
        finally:
            self._keeps(leases=False)
            self._link.close()

    def _extend_in_turn(self) -> None:
        while not self._stopped.is_set():
            version = self._held.version()
            try:
                wait, answered = self._turn()
                if answered:
                    self._succeeded()
            except EmqError as error:
                self._keeps(leases=False)
                self._count(error)
                pause = self._patience.pause()
                self._pulse.beat("keeper", pause, error)
                if self._patience.failures == 1:
                    log.warning("leases cannot be extended, claiming stops: %s", error)
                self._stopped.wait(pause)
                continue
            self._pulse.beat("keeper", wait)
            self._held.wait("keeper", version, wait)

    def _keeps(self, *, leases: bool) -> None:
        self._held.set_keeping(leases)
        self._pulse.keeps(leases=leases)

    def _count(self, error: EmqError) -> None:
        if not isinstance(error, (Refused, SchemaError)):
            return
        self._refusals += 1
        if self._refusals == MOST_REFUSALS:
            self.gave_up = error
            self._changed()

    def _succeeded(self) -> None:
        self._refusals = 0
        if self._patience.failures:
            log.info("leases can be extended again")
            self._patience.succeeded()
        if not self._held.keeping:
            self._keeps(leases=True)
            self._changed()

    def _turn(self) -> tuple[float, bool]:
        """When to look again, and whether it was answered that leases can be extended."""
        rung = self._held.take_rung()  # before they are extended: then they are told first
        usual, wished, completing, soonest = self._held.take_due(monotonic())
        try:
            for entry in completing:
                if self._must_extend(entry):
                    (usual if entry.ask is None else wished).append(entry)
            self._extend(usual)
            for entry in wished:
                self._extend([entry], entry.ask)
        finally:
            self._held.put_down([*usual, *wished, *completing], "keeper")
        self._stop_sql_of(rung)
        if usual or wished or completing:
            # Look again: when they are due next is known only now.
            return 0.0, bool(usual or wished)
        asks = self._doubtful or not self._held.keeping
        if asks:
            self._ask()
        elif self._seen_due <= monotonic():
            self._show()
        now = monotonic()
        wait = 0.0 if self._doubtful else self._seen_due - now
        return max(wait if soonest is None else min(wait, soonest - now), 0.001), asks

    def _ask(self) -> None:
        """Extend nothing: whether that works, and which queues are paused."""
        sent = monotonic()
        _, paused = self._link.call(
            lambda conn: holding.keep(conn, self._schema, [], self._queues, own=True),
            self._idle_limit(),
        )
        self._doubtful = False
        self._note_pauses(paused, sent)

    def _show(self) -> None:
        """Trouble with it is none with the leases: whether they can be extended is asked next, if
        no extension is due by then. So are the pauses, whose last word else stays for ever.
        """
        self._seen_due = monotonic() + SEEN_EVERY
        try:
            self._link.call(self._seen, self._idle_limit())
        except EmqError as error:
            level = logging.DEBUG if self._unseen else logging.WARNING
            log.log(level, "the worker cannot show itself: %s", error)
            self._unseen = True
        else:
            if self._unseen:
                log.info("the worker shows itself again")
            self._unseen = False
        self._doubtful = self._unseen or bool(self._held.pauses.known_at())

    def _idle_limit(self) -> float:
        leases = [entry.lease.lease.total_seconds() for entry in self._held.entries()]
        self._shortest = min([self._shortest, *leases])
        return min(max(self._shortest / 4, SHORTEST_CALL), IDLE_CALL)

    def _must_extend(self, entry: Entry) -> bool:
        if self._held.may_wait(entry, monotonic()):
            return False
        outcome = self._outcome(entry)
        if outcome == "busy":
            self._held.undecided(entry, monotonic())
            return False
        if outcome == "yours":
            self._held.rolled_back(entry)
            return True
        self._held.ended(entry)
        if not is_own_end(outcome, entry.verb):
            self._gone(entry, "cancelled" if outcome == "cancelled" else "lost")
        return False

    def _outcome(self, entry: Entry) -> Decided:
        return self._link.call(
            lambda conn: settling.decided(conn, self._schema, entry.lease), _limit([entry])
        )

    def _extend(self, entries: Sequence[Entry], ask: Ask | None = None) -> None:
        if not entries:
            return
        leases = [entry.lease for entry in entries]
        lease = ask.lease if ask is not None else None
        sent = monotonic()
        answers, paused = self._link.call(
            lambda conn: holding.keep(conn, self._schema, leases, self._queues, lease, own=True),
            _limit(entries),
        )
        crash_point("during-extend")
        self._held.extended(entries, answers, sent, ask)
        for entry, answer in zip(entries, answers, strict=True):
            if answer in {"lost", "cancelled"} and not self._completed(entry):
                self._pulse.refuses("keeper", "extend")
                self._gone(entry, answer)
        self._note_pauses(paused, sent)

    def _completed(self, entry: Entry) -> bool:
        """Whether it was refused because its run was settled while the extension was on its way.
        Then nothing was lost.
        """
        if not (entry.completing or entry.decided):
            return False
        try:
            return is_own_end(self._outcome(entry), entry.verb)
        except EmqError as error:
            log.debug("what became of %s is not known: %s", entry, error)
            return False

    def _gone(self, entry: Entry, answer: KeepAnswer) -> None:
        if answer == "cancelled":
            tell(entry, "cancelled by an operator")
            self._cancelled.append(entry)
        else:
            late = monotonic() - self._held.deadline(entry)
            tell(entry, "lease lost", f"noticed {late:.1f} s after its end" if late > 0 else "")
        self._stop(entry, None)

    def _stop_sql_of(self, rung: Sequence[Entry]) -> None:
        """End the SQL of those whose operator, or task, wants it: of the cancelled ones, and of
        those that were rung for, since an open transaction may keep a job from being cancelled.
        """
        cancelled, self._cancelled = self._cancelled, []
        at_once = {e for e in cancelled if e.handler is not None and e.handler.cancel_sql}
        asked = {*cancelled, *rung} - at_once
        for entry in at_once:
            self._stop_sql(entry)
        if not asked:
            return
        ids = [entry.lease.id for entry in asked]
        try:
            wished = self._link.call(
                lambda conn: holding.sql_stops(conn, self._schema, ids), _limit([*asked])
            )
        except EmqError as error:
            log.warning("whether SQL is to be cancelled cannot be asked: %s", error)
            return
        for entry in asked:
            if entry.lease.id in wished:
                self._stop_sql(entry)

    def _note_pauses(self, paused: Sequence[str], sent: float) -> None:
        new, over = self._held.pauses.told(paused, sent)
        for queue in new:
            log.info("the queue %s is paused: nothing is claimed from it", queue)
        for queue in over:
            log.info("the queue %s is resumed", queue)
        if new or over:
            self._pulse.pauses(paused)


def _limit(entries: Sequence[Entry]) -> float:
    """How long to wait for an answer, so that there is time to ask again on a new connection."""
    shortest = min(entry.lease.lease for entry in entries)
    return max(shortest.total_seconds() / 4, SHORTEST_CALL)
