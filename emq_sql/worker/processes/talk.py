"""The conversation with one child that is ready, in the thread of its slot."""

from __future__ import annotations

import logging
import random
from collections import deque
from collections.abc import Callable
from time import monotonic

from emq_sql.rules import verdict
from emq_sql.rules.verdict import Failed
from emq_sql.worker.endings import Ending, in_short
from emq_sql.worker.entry import Entry
from emq_sql.worker.executor import Ended, left_to_settle
from emq_sql.worker.held import Held
from emq_sql.worker.processes.board import Board, Seat, Stop
from emq_sql.worker.processes.channel import ChannelEnded, Frame
from emq_sql.worker.processes.errand import Errand, late_answer
from emq_sql.worker.processes.frames import job_content
from emq_sql.worker.processes.spawning import Child
from emq_sql.worker.records import about

log = logging.getLogger("emq_sql.worker.children")


class Talk:
    """Gives the child a job after the other, answers it, and settles what it says of their ends.

    `changed` is called when the seat is free for the first time, `unknown` with a job whose task
    the child does not know. After `rest` seconds without a job the child is let go, if that is set.
    """

    def __init__(
        self, child: Child, seat: Seat, board: Board, held: Held, ended: Ended,
        changed: Callable[[], None], unknown: Callable[[Entry, str], None],
        most_jobs: int | None, rest: float | None,
    ) -> None:  # fmt: skip
        self.errand: Errand | None = None
        self._child = child
        self._seat = seat
        self._board = board
        self._held = held
        self._ended = ended
        self._changed = changed
        self._unknown = unknown
        self._left = most_jobs
        self._rest = rest
        self._rests_since: float | None = None
        self._fresh = True
        self._outbox: deque[Frame] = deque()
        self._rng = random.Random()  # noqa: S311 - jitter, not a secret

    def go_on(self) -> None:
        """Until the child should be let go: it has run its jobs, or rested, or all must end.

        Raises ChannelEnded when it has died, and Rubbish when it talks nonsense.
        """
        while True:
            if self.errand is None:
                if self._left == 0:
                    return
                entry = self._board.next(self._seat)
                if entry is not None:
                    self._begin(entry)
                    continue
                if self._board.closing or self._rested():
                    return
                if self._fresh:
                    self._fresh = False
                    self._changed()
            self._say()
            self._hear()

    def _rested(self) -> bool:
        if self._rest is None:
            return False
        if self._rests_since is None:
            self._rests_since = monotonic()
        return monotonic() >= self._rests_since + self._rest and self._board.retires(self._seat)

    def _begin(self, entry: Entry) -> None:
        errand = Errand(entry, self._held, self._ended, self._post)
        self.errand = errand
        self._rests_since = None
        if entry.handler is None or not self._held.starts(entry):
            self._held.drop(entry)
            self._over(errand, None)
            return
        entry.cancelled.then(self._seat.waker.wake)
        try:
            self._child.channel.send({"kind": "run", **job_content(entry.claimed)})
        except (TypeError, ValueError, RecursionError) as error:
            policy, failures = entry.handler.backoff, entry.claimed.failures
            self._over(errand, verdict.raised(error, failures, policy, self._rng))

    def _post(self, frame: Frame) -> None:
        self._outbox.append(frame)
        self._seat.waker.wake()

    def _say(self) -> None:
        send = self._child.channel.send
        while self._outbox:
            send(self._outbox.popleft())
        errand = self.errand
        if errand is None:
            return
        fence, reason = errand.entry.lease.fence, errand.entry.cancelled.reason
        if reason is not None and not errand.told:
            errand.told = True
            send({"kind": "tell", "fence": fence, "reason": reason})
        if not errand.stopped and self._board.asked_to_stop(self._seat):
            errand.stopped = True
            # Nobody tells a handler that has snoozed its job and does not return.
            send({"kind": "stop", "fence": fence, "reason": reason or "worker stops"})
        if self._board.asked_to_stop_sql(self._seat):
            send({"kind": "stop sql", "fence": fence})

    def _hear(self) -> None:
        rests_until = None if self._rests_since is None else self._rests_since + (self._rest or 0)
        left = None if rests_until is None else max(rests_until - monotonic(), 0.0)
        heard = self._child.hear(self._seat.waker, left)
        if heard == "frame":
            self._heard(self._child.channel.receive())
        elif heard == "end":
            raise ChannelEnded("it has ended")

    def _heard(self, frame: Frame) -> None:
        errand = self.errand
        if errand is None:
            if (answer := late_answer(frame)) is not None:
                self._post(answer)
            return
        errand.heard(frame)
        if errand.unknown:
            self._unknown(errand.entry, "a child process, with other code than its worker,")
        if errand.over:
            self._over(errand, errand.ending)

    def _over(self, errand: Errand, ending: Ending | None) -> None:
        self.errand = None
        errand.close()
        if self._left is not None:
            self._left -= 1
        stop = self._board.over(self._seat, free=self._left != 0)
        settle(self._held, self._ended, errand.entry, ending, stop)


def settle(
    held: Held, ended: Ended, entry: Entry, ending: Ending | None, stop: Stop | None
) -> None:
    """Tell how a run ended that is over now: as who stopped it wants, or else by `ending`."""
    if stop is not None and stop.ending is not None:
        ended(entry, stop.ending)
        return
    left = None if ending is None else left_to_settle(held, entry, ending, None)
    if left is None and isinstance(ending, Failed) and entry.cancelled.reason is None:
        log.warning(
            "%s was settled before; its handler then raised %s",
            entry, in_short(ending), extra=about(entry.claimed),
        )  # fmt: skip
    ended(entry, left)
