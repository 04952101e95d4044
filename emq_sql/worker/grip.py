"""What a run knows of its lease and may do with it, wherever it runs."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol

from emq_sql.job import Claimed, KeepAnswer, SettleAnswer, Verb
from emq_sql.rules.verdict import Failed
from emq_sql.worker.cancellation import Cancellation
from emq_sql.worker.endings import Snoozed
from emq_sql.worker.entry import Entry, own_transaction
from emq_sql.worker.held import Held

Standing = Literal["open", "over", "lost"]


def standing(*, decided: bool, lost: bool, completing: bool) -> Standing:
    """What these three say together of a run: the loss of what its handler has ended is none."""
    if decided or (lost and completing):
        return "over"
    return "lost" if lost else "open"


class Grip(Protocol):
    """The hold of one run on its lease: in its worker's process, or in a child of it.

    May be used from any thread. Only `wish`, `finish` and `take` may wait for an answer of the
    worker, and none of them waits for the database.
    """

    @property
    def claimed(self) -> Claimed:
        """The job."""

    @property
    def cancelled(self) -> Cancellation:
        """Told when it is time to stop."""

    @property
    def lease_deadline(self) -> datetime:
        """The newest deadline known, by the server's clock; never later than the real one."""

    @property
    def lapses(self) -> float:
        """The monotonic instant at which the lease lapses unless it is extended."""

    @property
    def queue_paused(self) -> bool:
        """Whether the queue of the job was paused when a lease was last extended."""

    @property
    def standing(self) -> Standing:
        """`over`: settled, as far as the handler has a say in it. `lost`: the server said that the
        fence is stale.
        """

    @property
    def completing(self) -> bool:
        """Whether the handler ended its run in a transaction, which may not be committed."""

    @property
    def verb(self) -> Verb:
        """What it did there."""

    @property
    def committed(self) -> SettleAnswer | None:
        """Where that has brought the job, once it is known to have committed."""

    @property
    def refused(self) -> bool:
        """Whether the handler's own completion was refused as stale."""

    def wish(self, lease: timedelta | None) -> Future[KeepAnswer]:
        """Have the lease extended now, by its own length or by this one: the answer to come.

        The future cannot be cancelled, and may stay without an answer: wait until `lapses`.
        """

    def finish(self, ending: Failed | Snoozed) -> bool:
        """End this run with a snooze or another try; False when it had ended before."""

    def take(self) -> None:
        """An end in the handler's own transaction begins: the keeper stands back."""

    def completed(self, own: Any, verb: Verb) -> None:
        """It was taken, in the transaction that is open on `own`."""

    def settled(self, answer: SettleAnswer) -> None:
        """That transaction has committed, and `answer` is where it has brought the job."""

    def was_refused(self) -> None:
        """It was refused as stale."""

    def put_down(self) -> None:
        """The statement of `take` has ended, in whichever way."""

    def note_refusal(self, verb: str) -> None:
        """The database refused a call of this run, and the record was rolled back with it: have it
        recorded soon.
        """


class NearGrip:
    """The grip of a run in the worker's own process."""

    __slots__ = ("_committed", "_ended", "_entry", "_held")

    def __init__(
        self, entry: Entry, held: Held, ended: Callable[[Entry, Failed | Snoozed], None]
    ) -> None:
        self._entry = entry
        self._held = held
        self._ended = ended
        self._committed: SettleAnswer | None = None

    @property
    def claimed(self) -> Claimed:
        """The job."""
        return self._entry.claimed

    @property
    def cancelled(self) -> Cancellation:
        """Told when it is time to stop."""
        return self._entry.cancelled

    @property
    def lease_deadline(self) -> datetime:
        """The newest deadline known, by the server's clock."""
        return self._entry.lease_deadline

    @property
    def lapses(self) -> float:
        """The monotonic instant at which the lease lapses unless it is extended."""
        return self._held.deadline(self._entry)

    @property
    def queue_paused(self) -> bool:
        """Whether the queue of the job was paused when a lease was last extended."""
        return self._held.pauses.paused(self._entry.claimed.queue)

    @property
    def standing(self) -> Standing:
        """Whether this run is over, or its lease lost."""
        entry = self._entry
        return standing(decided=entry.decided, lost=entry.lost, completing=entry.completing)

    @property
    def completing(self) -> bool:
        """Whether the handler ended its run in a transaction."""
        return self._entry.completing

    @property
    def verb(self) -> Verb:
        """What it did there."""
        return self._entry.verb

    @property
    def committed(self) -> SettleAnswer | None:
        """Where that has brought the job, once it is known to have committed."""
        return self._committed

    @property
    def refused(self) -> bool:
        """Whether the handler's own completion was refused as stale."""
        return self._entry.refused

    def wish(self, lease: timedelta | None) -> Future[KeepAnswer]:
        """Have the lease extended now."""
        return self._held.wish(self._entry, lease).answer

    def finish(self, ending: Failed | Snoozed) -> bool:
        """End this run with a snooze or another try."""
        if not self._held.decide(self._entry):
            return False
        self._ended(self._entry, ending)
        return True

    def take(self) -> None:
        """An end in the handler's own transaction begins."""
        self._held.take_soon(self._entry, "handler")

    def completed(self, own: Any, verb: Verb) -> None:
        """It was taken."""
        self._held.completed(self._entry, own_transaction(own), verb)

    def settled(self, answer: SettleAnswer) -> None:
        """That transaction has committed."""
        self._committed = answer
        self._held.settled(self._entry)

    def was_refused(self) -> None:
        """It was refused as stale."""
        self._held.refused(self._entry)

    def put_down(self) -> None:
        """The statement of `take` has ended."""
        self._held.put_down([self._entry], "handler")

    def note_refusal(self, verb: str) -> None:
        """Have it recorded soon."""
        self._held.note_refusal(self._entry, verb)
