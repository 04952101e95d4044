"""The hold of a run on its lease, in a child: the worker is asked through the channel."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from datetime import datetime, timedelta
from time import monotonic
from typing import Any, Protocol

from emq_sql.job import Claimed, KeepAnswer, SettleAnswer, Verb
from emq_sql.rules.verdict import Failed
from emq_sql.worker.cancellation import Cancellation
from emq_sql.worker.entry import IsOpen, own_transaction
from emq_sql.worker.grip import Standing
from emq_sql.worker.processes.channel import Frame
from emq_sql.worker.processes.frames import failed_content, microseconds
from emq_sql.worker.snoozing import Snoozed


class Worker(Protocol):
    """The way to the worker that holds the lease."""

    def say(self, frame: Frame) -> None:
        """Tell it."""

    def ask(self, frame: Frame) -> Future[Any]:
        """Ask it: the answer to come."""


class FarGrip:
    """A `Grip`. What the worker knows it is asked for; each question takes a fraction of a
    millisecond, since it talks to no database for the answer (but for a wish, which may wait).
    """

    def __init__(self, claimed: Claimed, worker: Worker) -> None:
        self._claimed = claimed
        self._worker = worker
        self._cancelled = Cancellation()
        self.stopping = Cancellation()  # more than told: a coroutine is cancelled
        self.stop_sql: Callable[[], None] = lambda: None  # set by who runs it; must not wait
        self._own: IsOpen | None = None
        self._completing = False
        self._verb: Verb = "complete"
        self._committed: SettleAnswer | None = None
        self._refused = False
        self._over = False

    @property
    def claimed(self) -> Claimed:
        """The job."""
        return self._claimed

    @property
    def cancelled(self) -> Cancellation:
        """Told when it is time to stop."""
        return self._cancelled

    @property
    def lease_deadline(self) -> datetime:
        """The newest deadline known, by the server's clock."""
        state = self._state()
        if state is None:
            return self._claimed.lease.lease_deadline
        return datetime.fromisoformat(state["deadline"])

    @property
    def lapses(self) -> float:
        """The monotonic instant at which the lease lapses unless it is extended."""
        state = self._state()
        return monotonic() + (0.0 if state is None else float(state["lapses_in"]))

    @property
    def queue_paused(self) -> bool:
        """Whether the queue of the job was paused when a lease was last extended."""
        state = self._state()
        return state is not None and bool(state["paused"])

    @property
    def standing(self) -> Standing:
        """Whether this run is over, or its lease lost."""
        state = self._state() if self._committed is None else None
        return "over" if state is None else state["standing"]

    @property
    def completing(self) -> bool:
        """Whether the handler ended its run in a transaction."""
        return self._completing

    @property
    def verb(self) -> Verb:
        """What it did there."""
        return self._verb

    @property
    def committed(self) -> SettleAnswer | None:
        """Where that has brought the job, once it is known to have committed."""
        return self._committed

    @property
    def refused(self) -> bool:
        """Whether the handler's own completion was refused as stale."""
        return self._refused

    def wish(self, lease: timedelta | None) -> Future[KeepAnswer]:
        """Have the lease extended now."""
        return self._ask("wish", lease=None if lease is None else microseconds(lease))

    def finish(self, ending: Failed | Snoozed) -> bool:
        """End this run with a snooze or another try."""
        if isinstance(ending, Snoozed):
            asked = self._ask("snooze", delay=microseconds(ending.delay))
        else:
            asked = self._ask("retry", **failed_content(ending))
        return bool(asked.result())

    def take(self) -> None:
        """An end in the handler's own transaction begins: waits for the keeper."""
        self._ask("take").result()

    def completed(self, own: Any, verb: Verb) -> None:
        """It was taken."""
        self._completing = True
        self._verb = verb
        self._own = own_transaction(own)
        self._say("completed", verb=verb)

    def settled(self, answer: SettleAnswer) -> None:
        """That transaction has committed."""
        self._committed = answer
        self._say("settled")

    def was_refused(self) -> None:
        """It was refused as stale."""
        self._refused = True
        self._say("refused")

    def put_down(self) -> None:
        """The statement of `take` has ended."""
        self._say("put down")

    def note_refusal(self, verb: str) -> None:
        """Have it recorded soon."""
        self._say("note", verb=verb)

    def started(self) -> None:
        """The handler is about to be called."""
        self._say("started")

    def ended(self, content: dict[str, Any]) -> None:
        """The run is over, in the words of `frames.ending_content`; nothing more can be done."""
        self._over = True
        self._say("ended", **content)

    def _state(self) -> dict[str, Any] | None:
        if self._over:
            return None
        state: dict[str, Any] | None = self._ask("state").result()
        return state

    def _say(self, kind: str, **content: Any) -> None:
        self._worker.say(self._frame(kind, content))

    def _ask(self, kind: str, **content: Any) -> Future[Any]:
        return self._worker.ask(self._frame(kind, content))

    def _frame(self, kind: str, content: dict[str, Any]) -> Frame:
        is_open = self._own is not None and self._own()
        return {"kind": kind, "fence": self._claimed.lease.fence, "open": is_open, **content}
