"""Tells the database how runs ended, until it has answered for each of them."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

import psycopg

from emq_sql.crashpoints import crash_point
from emq_sql.errors import BadInput, EmqError, Refused
from emq_sql.job import Answer, Decided, PutBackAnswer
from emq_sql.protocol import holding, settling
from emq_sql.protocol.link import Link
from emq_sql.protocol.troubles import about_data
from emq_sql.rules.payload import UNSTORABLE
from emq_sql.rules.verdict import Completed, Failed
from emq_sql.worker.endings import (
    CompletedByHandler,
    RefusedInHandler,
    Released,
    Settlement,
    Snoozed,
    Stalled,
    in_short,
    is_own_end,
)
from emq_sql.worker.held import Held
from emq_sql.worker.pulse import Pulse
from emq_sql.worker.records import about

log = logging.getLogger("emq_sql.worker")

_HANDS_PAUSE = 0.005
_BUSY_FIRST = 0.01
_BUSY_LONGEST = 1.0
_VERBS = {Failed: "fail", Snoozed: "snooze", Released: "release", Stalled: "stall"}
_PutBack = Callable[[psycopg.Connection[Any], str, list[Any]], list[PutBackAnswer]]


class Settler:
    """Keeps each settlement until it is done or lost; asks again while the row is busy.

    After a broken connection a completion is repeated (the repeat is a no-op); for the other verbs
    it is asked first what became of the job, since a repeat would be recorded as stale.
    """

    def __init__(self, link: Link, schema: str, held: Held, pulse: Pulse) -> None:
        self._link = link
        self._schema = schema
        self._held = held
        self._pulse = pulse
        self._waiting: list[Settlement] = []
        self.refusals = 0  # calls refused as a whole, so far

    def add(self, settlement: Settlement) -> None:
        """One more to settle."""
        self._waiting.append(settlement)

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def busy(self) -> int:
        """Settlements that an open transaction of somebody holds up."""
        return sum(settlement.asked > 0 for settlement in self._waiting)

    def next_due(self) -> float:
        """The monotonic instant at which there is something to send."""
        return min((s.not_before for s in self._waiting), default=float("inf"))

    def completions(self, now: float) -> list[Settlement]:
        """The completions to send now, in the settler's hands: see `completed` and `put_down`."""
        return self._take(now, lambda s: isinstance(s.ending, Completed) and not s.refusals)

    def put_down(self, batch: Sequence[Settlement]) -> None:
        """The statement about these has ended, in whichever way."""
        self._held.put_down([s.entry for s in batch], "settler")

    def complete(self, batch: list[Settlement]) -> None:
        """Complete these on their own."""
        if not batch:
            return
        leases = [s.entry.lease for s in batch]
        results = [s.ending.result for s in batch if isinstance(s.ending, Completed)]
        answers = self._sending(
            batch,
            lambda conn: holding.complete(conn, self._schema, leases, results, own=True),
        )
        self.completed(batch, answers)

    def completed(self, batch: Sequence[Settlement], answers: Sequence[Answer]) -> None:
        """Write down the answers to a completion, which has committed."""
        crash_point("after-complete")
        for settlement, answer in zip(batch, answers, strict=True):
            self._answered(settlement, answer)

    def refused(self, batch: Sequence[Settlement], error: Refused | BadInput) -> None:
        """The server refused a statement about these, perhaps because of one of them.

        Each is sent again by itself, a completion without its result when it is that which cannot
        be stored; only the end of the lease ends the attempts.
        """
        data = about_data(error)
        self.refusals += not data
        for settlement in batch:
            settlement.refusals += 1
            settlement.not_before = monotonic() + min(0.1 * settlement.refusals, 5.0)
            entry = settlement.entry
            extra = about(entry.claimed)
            log.error("%s cannot be settled, it is tried again: %s", entry, error, extra=extra)
            alone = len(batch) == 1 and settlement.refusals > 1
            if data and alone and isinstance(settlement.ending, Completed):
                log.error("%s: its result cannot be stored and is dropped", entry, extra=extra)
                settlement.ending = Completed(json.dumps({UNSTORABLE: "the database refused it"}))

    def unsure(self, batch: Sequence[Settlement]) -> None:
        """The answer to these was lost with the connection."""
        for settlement in batch:
            settlement.unsure = True

    def settle_others(self, now: float) -> None:
        """Send everything else that is due, a statement for each verb."""
        for refused in self._take(now, lambda s: isinstance(s.ending, Completed)):
            try:
                self.complete([refused])
            finally:
                self.put_down([refused])
        for kind, verb in (
            (Failed, self._fail),
            (Snoozed, self._snooze),
            (Released, self._release),
            (Stalled, self._stall),
        ):
            batch = self._take(now, lambda s, kind=kind: isinstance(s.ending, kind))  # type: ignore[misc]
            try:
                ready = [s for s in batch if self._worth_sending(s)]
                self._put_back([s for s in ready if not s.refusals], verb)
                for refused in [s for s in ready if s.refusals]:
                    self._put_back([refused], verb)
            finally:
                self.put_down(batch)
        handlers = self._take(
            now, lambda s: isinstance(s.ending, (CompletedByHandler, RefusedInHandler))
        )
        try:
            for settlement in handlers:
                self._settle_handlers_own(settlement)
        finally:
            self.put_down(handlers)

    def _take(self, now: float, wanted: Callable[[Settlement], bool]) -> list[Settlement]:
        batch = []
        for settlement in self._waiting:
            if settlement.not_before > now or not wanted(settlement):
                continue
            if self._held.take(settlement.entry, "settler"):
                batch.append(settlement)
            else:
                settlement.not_before = now + _HANDS_PAUSE
        return batch

    def _fail(self, conn: psycopg.Connection[Any], schema: str, batch: list[Any]) -> list[Any]:
        leases, endings = [s.entry.lease for s in batch], [s.ending for s in batch]
        reasons, delays = [e.reason for e in endings], [e.delay for e in endings]
        errors = [e.error for e in endings]
        return holding.fail(conn, schema, leases, reasons, delays, errors, own=True)

    def _snooze(self, conn: psycopg.Connection[Any], schema: str, batch: list[Any]) -> list[Any]:
        leases, delays = [s.entry.lease for s in batch], [s.ending.delay for s in batch]
        return holding.snooze(conn, schema, leases, delays, own=True)

    def _release(self, conn: psycopg.Connection[Any], schema: str, batch: list[Any]) -> list[Any]:
        crash_point("before-release")
        return holding.release(conn, schema, [s.entry.lease for s in batch], own=True)

    def _stall(self, conn: psycopg.Connection[Any], schema: str, batch: list[Any]) -> list[Any]:
        leases, errors = [s.entry.lease for s in batch], [s.ending.error for s in batch]
        return holding.stall(conn, schema, leases, errors, own=True)

    def _put_back(self, batch: list[Settlement], verb: _PutBack) -> None:
        if not batch:
            return
        answers = self._sending(batch, lambda conn: verb(conn, self._schema, batch))
        for settlement, answer in zip(batch, answers, strict=True):
            self._answered(settlement, answer)

    def _worth_sending(self, settlement: Settlement) -> bool:
        if not (settlement.unsure or settlement.entry.completing):
            return True
        if settlement.entry.own_is_open():
            # A retry that met its commit would go on record as stale: it is waited for.
            self._answered(settlement, "busy")
            return False
        outcome = self._outcome(settlement)
        if outcome == "busy":
            self._answered(settlement, "busy")
            return False
        if outcome != "yours":
            self._close(settlement)  # the call whose answer was lost had committed
            return False
        settlement.unsure = False
        return True

    def _settle_handlers_own(self, settlement: Settlement) -> None:
        entry, ending = settlement.entry, settlement.ending
        assert isinstance(ending, (CompletedByHandler, RefusedInHandler))
        if isinstance(ending, CompletedByHandler):
            if ending.committed is not None:
                self._settled_by_handler(settlement, ending, dead=ending.committed == "dead")
                return
            outcome = self._outcome(settlement)
            if is_own_end(outcome, ending.verb):
                self._settled_by_handler(settlement, ending, dead=outcome == "dead")
                return
        else:
            outcome = self._outcome(settlement)
        if outcome == "busy":
            self._answered(settlement, "busy")
        elif outcome == "yours":
            # Not committed: rolled back, or still open, and then the row is busy until it is known.
            settlement.ending = ending.failed
        else:
            if isinstance(ending, CompletedByHandler):  # taken, rolled back, and then lost
                self._held.note_refusal(entry, ending.verb)
            self._say_lost(settlement)
            self._close(settlement)

    def _settled_by_handler(
        self, settlement: Settlement, ending: CompletedByHandler, *, dead: bool
    ) -> None:
        crash_point("after-complete")
        entry, extra = settlement.entry, about(settlement.entry.claimed)
        if dead:
            log.error(
                "%s is a dead letter: its handler's retry was one too many", entry, extra=extra
            )
        if ending.raised:
            how = "had completed" if ending.verb == "complete" else "had been put back"
            raised = in_short(ending.failed)
            log.warning("%s %s when its handler raised: %s", entry, how, raised, extra=extra)
        self._close(settlement)

    def _outcome(self, settlement: Settlement) -> Decided:
        lease = settlement.entry.lease
        return self._link.call(lambda conn: settling.decided(conn, self._schema, lease))

    def _sending(self, batch: Sequence[Settlement], call: Callable[..., list[Any]]) -> list[Any]:
        try:
            return self._link.call(call)
        except (Refused, BadInput) as error:
            self.refused(batch, error)
            return [None for _ in batch]
        except EmqError:
            self.unsure(batch)
            raise

    def _answered(self, settlement: Settlement, answer: Answer | PutBackAnswer | None) -> None:
        if answer == "done" and type(settlement.ending) is Completed:  # nearly all of them
            self._close(settlement)
            return
        if answer is None:
            return
        entry, extra = settlement.entry, about(settlement.entry.claimed)
        if answer == "busy":
            if entry.completing and settlement.asked == 0:
                said = "%s: its own completion is not committed yet; its row is asked for until the"
                log.warning(f"{said} transaction that holds it has ended", entry, extra=extra)
            pause = min(_BUSY_FIRST * 2 ** min(settlement.asked, 10), _BUSY_LONGEST)
            settlement.asked += 1
            settlement.not_before = monotonic() + pause
            return
        if entry.completing and isinstance(settlement.ending, Failed) and answer != "lost":
            said = "%s: its own completion was not committed, it counts as failed"
            log.warning(said, entry, extra=extra)
        if answer == "lost":
            self._lost(settlement)
        elif answer == "dead":
            said = in_short(settlement.ending)
            planned = (
                isinstance(settlement.ending, Failed) and settlement.ending.reason == "expired"
            )
            level = logging.WARNING if planned else logging.ERROR
            log.log(level, "%s is a dead letter: %s", entry, said, extra=extra)
        elif isinstance(settlement.ending, Failed) and settlement.ending.reason != "no handler":
            delay = settlement.ending.delay.total_seconds()
            said = in_short(settlement.ending)
            log.warning("%s failed and waits %.1f s: %s", entry, delay, said, extra=extra)
        elif isinstance(settlement.ending, Stalled):
            said = in_short(settlement.ending)
            log.warning("%s stalled and is pending again: %s", entry, said, extra=extra)
        self._close(settlement)

    def _lost(self, settlement: Settlement) -> None:
        entry = settlement.entry
        if entry.completing and is_own_end(self._outcome(settlement), entry.verb):
            return  # its handler's transaction committed after all
        self._pulse.refuses("main", _VERBS.get(type(settlement.ending), "complete"))
        self._say_lost(settlement)

    def _say_lost(self, settlement: Settlement) -> None:
        entry = settlement.entry
        late = monotonic() - self._held.deadline(entry)
        past = f"{late:.1f} s after" if late > 0 else f"{-late:.1f} s before"
        # The loss itself may have been said already, when the handler was told to stop.
        known = "" if entry.cancelled.is_set() else "lease lost, "
        extra = about(entry.claimed)
        log.warning(
            "%s: %sits end was refused, %s the lease's own", entry, known, past, extra=extra
        )

    def _close(self, settlement: Settlement) -> None:
        self._waiting.remove(settlement)
        self._held.remove(settlement.entry)
