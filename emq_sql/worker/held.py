"""The register of what this worker holds: the one structure that its threads share.

Thread safety: every read and write of an entry's mutable fields happens under the one lock of
this register, in a method that neither blocks nor calls out. Nobody holds the lock while talking
to the database. Two threads must not send statements about the same row at once, or one of them
would be answered `busy`, or `lost` and recorded as a refusal that was none: so who wants to send
takes the entry into its hands first. Hands that were full for HANDS_FULL seconds (a connection
that hangs) stop nobody. Signal handlers never come here.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from datetime import timedelta
from time import monotonic
from typing import Literal
from uuid import UUID

from emq_sql.job import KeepAnswer, Verb
from emq_sql.rules.lease import lapses_at
from emq_sql.worker.entry import Ask, Entry, Hands, IsOpen
from emq_sql.worker.notes import Note, Notes
from emq_sql.worker.pauses import Pauses

Waiter = Literal["keeper", "watch"]

HANDS_FULL = 1.0
_NEVER = float("inf")
_SHORTEST_BUSY = 0.01
_LONGEST_BUSY = 0.25


class Held:
    """All entries that are claimed and not settled; see the module for its one lock.

    What it writes down of a lost or lapsed lease its caller tells the handler, without the lock.
    """

    def __init__(self) -> None:
        self.pauses = Pauses()
        self.refusals = Notes()  # met by handlers, to be put on record
        # The lock itself, and not the condition, is what `with` takes: an exception that is sent to
        # a handler's thread from outside can then not strike between the lock and the block.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._entries: set[Entry] = set()
        self._rung: list[Entry] = []
        self._last_chance: Entry | None = None
        self._last_chance_begun: float | None = None
        self._version = 0
        self._keeping = True
        self._alarms = {"keeper": _NEVER, "watch": _NEVER}

    def __len__(self) -> int:
        with self._lock:
            return len(self._entries)

    def entries(self) -> list[Entry]:
        """All of them, in no order."""
        with self._lock:
            return list(self._entries)

    def version(self) -> int:
        """Grows with each change that a waiting thread should look at."""
        with self._lock:
            return self._version

    def wait(self, who: Waiter, seen: int, seconds: float | None) -> None:
        """Wait until something has changed since `version()` answered `seen`, or time is up."""
        with self._lock:
            self._alarms[who] = _NEVER if seconds is None else monotonic() + seconds
            self._changed.wait_for(lambda: self._version != seen, seconds)
            self._alarms[who] = _NEVER

    def poke(self) -> None:
        """Let all waiting threads look again."""
        with self._lock:
            self._poke()

    def add(self, entries: Iterable[Entry]) -> None:
        """Freshly claimed."""
        with self._lock:
            soonest = _NEVER
            for entry in entries:
                self._entries.add(entry)
                soonest = min(soonest, entry.extension_due())
            # Short jobs come by the thousand: nobody is woken who will wake in time anyway.
            if any(alarm > soonest for alarm in self._alarms.values()):
                self._poke()

    def mark(self, entry: Entry) -> None:
        """This one, of all that are held, is a dead letter if it is lost once more."""
        with self._lock:
            if entry in self._entries:
                self._last_chance, self._last_chance_begun = entry, None

    @property
    def last_chance(self) -> Entry | None:
        """The job of which the end of this worker would make a dead letter, while it is held."""
        return self._last_chance  # one read, with each job: it waits for nobody

    @property
    def last_chance_begun(self) -> float | None:
        """When its handler was called, or sent to a process, by the monotonic clock."""
        with self._lock:
            return self._last_chance_begun

    def remove(self, entry: Entry) -> None:
        """Settled, or not ours any more."""
        with self._lock:
            self._entries.discard(entry)
            if self._last_chance is entry:
                self._last_chance = None
            _answer(entry, "lost")

    def drop(self, entry: Entry) -> None:
        """Nothing is left to settle about it, unless somebody has decided already to settle it."""
        if self.decide(entry):
            self.remove(entry)

    def decide(self, entry: Entry) -> bool:
        """True for the first who wants to settle it: its end, a timeout, a snooze, a shutdown."""
        with self._lock:
            first = not entry.decided
            entry.decided = True
            entry.timeout_at = None
            return first

    def starts(self, entry: Entry) -> bool:
        """The handler is about to be called: its timeout begins. False when it must not be."""
        with self._lock:
            if entry.decided or entry.lost:
                return False
            if self._last_chance is entry:
                self._last_chance_begun = monotonic()
            timeout = entry.handler.timeout if entry.handler else None
            if timeout is not None:
                entry.timeout_at = monotonic() + timeout.total_seconds()
                self._poke()
            return True

    def take(self, entry: Entry, who: Hands) -> bool:
        """Whether `who` may send a statement about this row now."""
        with self._lock:
            return self._take(entry, who, monotonic())

    def take_soon(self, entry: Entry, who: Hands) -> None:
        """Wait for the hands to be free, at most until they count as hanging."""
        with self._lock:
            self._changed.wait_for(lambda: self._take(entry, who, monotonic()), HANDS_FULL * 1.1)

    def put_down(self, entries: Iterable[Entry], who: Hands) -> None:
        """The statement has been answered, or has failed."""
        with self._lock:
            for entry in entries:
                if entry.hands == who:
                    entry.hands = None
            self._changed.notify_all()

    def _take(self, entry: Entry, who: Hands, now: float) -> bool:
        free = entry.hands in {None, who} or now - entry.hands_since > HANDS_FULL
        if free:
            entry.hands, entry.hands_since = who, now
        return free

    def take_due(self, now: float) -> tuple[list[Entry], list[Entry], list[Entry], float | None]:
        """(to extend, to extend by a wish, to ask about, when to look again) at `now`.

        Those in the three lists are in the keeper's hands. Asked about are those that their handler
        completed, or that hang in other hands (a process that was frozen finds all hands full): an
        extension after a commit would be refused, and recorded as if stale.
        """
        usual: list[Entry] = []
        wished: list[Entry] = []
        completing: list[Entry] = []
        with self._lock:
            soonest: float | None = None
            for entry in self._entries:
                if entry.lost:
                    continue
                due = entry.extension_due()
                hanging = entry.hands not in {None, "keeper"}
                if due <= now and not self._take(entry, "keeper", now):
                    due = now + _SHORTEST_BUSY
                if due > now:
                    soonest = due if soonest is None else min(soonest, due)
                elif entry.own is not None or hanging:
                    completing.append(entry)
                else:
                    (usual if entry.ask is None else wished).append(entry)
        return usual, wished, completing, soonest

    def extended(
        self, entries: Sequence[Entry], answers: Sequence[KeepAnswer], sent: float,
        ask: Ask | None = None,
    ) -> None:  # fmt: skip
        """Write down the answers to an extension sent at `sent`, which `ask` wished for.

        A wish that came while the usual extension was under way is not answered by it.
        """
        wish = ask.lease if ask is not None else None
        with self._lock:
            for entry, answer in zip(entries, answers, strict=True):
                if answer == "done":
                    entry.extended(sent, wish or entry.lease.lease)
                    entry.lapsed = False
                elif answer == "busy":
                    entry.busy_until = monotonic() + _pause(entry)
                    if entry.own is not None:
                        # Its own open transaction holds the row: nobody can take it meanwhile.
                        entry.lapses = max(entry.lapses, lapses_at(sent, entry.lease.lease))
                    continue
                else:
                    entry.lost = True
                if entry.ask is ask or entry.lost:
                    _answer(entry, answer)

    def may_wait(self, entry: Entry, now: float) -> bool:
        """Whether nothing need be asked yet about a job that its handler has completed.

        While that transaction is open nobody else can take the row, and an extension that came just
        after its commit would go on record as stale. So it waits as long as the lease allows.
        """
        with self._lock:
            in_need = now >= entry.lapses - entry.lease.lease.total_seconds() / 3
            if in_need or not entry.own_is_open():
                return False
            entry.busy_until = now + _pause(entry)
            return True

    def undecided(self, entry: Entry, now: float) -> None:
        """Its transaction is open on the server although its connection is lost: as in `extended`,
        nobody else can take the row meanwhile.
        """
        with self._lock:
            entry.busy_until = now + _pause(entry)
            entry.lapses = max(entry.lapses, lapses_at(now, entry.lease.lease))

    def rolled_back(self, entry: Entry) -> None:
        """Its completion was not committed: it is held like any other."""
        with self._lock:
            if not entry.own_is_open():
                entry.own = None
                entry.lapsed = False  # and watched like any other
                self._poke()

    def ended(self, entry: Entry) -> None:
        """A job that its handler completed is not ours any more: nothing is left to extend."""
        with self._lock:
            entry.lost = True
            _answer(entry, "lost")

    @property
    def keeping(self) -> bool:
        """Whether leases are known to be kept: while they are not, nothing more is claimed."""
        with self._lock:
            return self._keeping

    def set_keeping(self, keeping: bool) -> None:
        """Said by the keeper when its connection is lost, or is there again."""
        with self._lock:
            self._keeping = keeping

    def take_expired(self, now: float) -> tuple[list[Entry], list[Entry], float | None]:
        """(just lapsed, just timed out, when to look again); each is named once.

        A run that has ended, or whose completion its handler has sent, is not named as lapsed: that
        is told by what becomes of it. Until it is known claiming stops all the same.
        """
        lapsed: list[Entry] = []
        timed_out: list[Entry] = []
        soonest: float | None = None
        with self._lock:
            for entry in self._entries:
                if not (entry.lapsed or entry.lost):
                    if entry.lapses <= now:
                        entry.lapsed = True
                        self._keeping = False
                        if not entry.decided and entry.own is None:
                            lapsed.append(entry)
                    else:
                        soonest = entry.lapses if soonest is None else min(soonest, entry.lapses)
                if entry.timeout_at is not None:
                    if entry.timeout_at <= now:
                        entry.timeout_at = None
                        timed_out.append(entry)
                    else:
                        soonest = min(soonest or entry.timeout_at, entry.timeout_at)
        return lapsed, timed_out, soonest

    def wish(self, entry: Entry, lease: timedelta | None) -> Ask:
        """Ask the keeper for an extension now."""
        with self._lock:
            if entry.ask is None:
                entry.ask = Ask(lease)
                entry.busy_until = 0.0
                self._poke()
            return entry.ask

    def ring(self, id: UUID) -> None:
        """An operator has done something about this job: if it is held, ask at once what."""
        with self._lock:
            for entry in self._entries:
                if entry.lease.id == id and not entry.lost:
                    self._rung.append(entry)
                    if entry.ask is None:
                        entry.ask = Ask(None)
                    entry.busy_until = 0.0
                    self._poke()

    def take_rung(self) -> list[Entry]:
        """Those that were rung for since it was asked last."""
        with self._lock:
            rung, self._rung = self._rung, []
            return rung

    def completed(self, entry: Entry, own: IsOpen, verb: Verb = "complete") -> None:
        """The handler ended its run; `own` says whether its transaction for it is still open."""
        with self._lock:
            entry.completing = True
            entry.verb = verb
            entry.own = own

    def settled(self, entry: Entry) -> None:
        """That transaction is known to have committed: nothing is left to extend, or to ask."""
        with self._lock:
            entry.settled = True
            entry.own = None
            entry.lost = True
            _answer(entry, "lost")

    def refused(self, entry: Entry) -> None:
        """The handler's own completion was refused as stale, in its transaction."""
        with self._lock:
            entry.refused = True

    def note_refusal(self, entry: Entry, verb: str) -> None:
        """A call of its run was refused, in a transaction that was then rolled back."""
        self.refusals.put(Note(entry.lease, verb, monotonic()))

    def deadline(self, entry: Entry) -> float:
        """When the lease lapses, by the monotonic clock."""
        with self._lock:
            return entry.lapses

    def _poke(self) -> None:
        self._version += 1
        self._changed.notify_all()


def _answer(entry: Entry, answer: KeepAnswer) -> None:
    ask, entry.ask = entry.ask, None
    if ask is not None:
        ask.answer.set_result(answer)


def _pause(entry: Entry) -> float:
    tenth = entry.lease.lease.total_seconds() / 10
    return min(max(tenth, _SHORTEST_BUSY), _LONGEST_BUSY)
