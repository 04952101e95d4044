"""Runs handlers in child processes, one job at a time in each."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Protocol

from emq_sql.errors import ChildrenFailed, EmqError
from emq_sql.worker.endings import Ending
from emq_sql.worker.entry import Entry
from emq_sql.worker.executor import Ended
from emq_sql.worker.held import Held
from emq_sql.worker.loops import Loop
from emq_sql.worker.processes.board import MOST_FAILURES, Board, Place, Seat
from emq_sql.worker.processes.slot import END_PATIENCE, Setup, Slot
from emq_sql.worker.pulse import Pulse

log = logging.getLogger("emq_sql.worker.children")

STOP_GRACE = 1.0  # seconds between telling a handler and killing its process
LOST_GRACE = 5.0  # the same when its lease is lost: it can commit nothing, but may clean up
LONGEST_WAIT = 10.0  # so that it is known to be alive
SAID_EVERY = 60.0  # why children do not start


class Host(Protocol):
    """The worker that runs the jobs, as its children's keeper needs it."""

    pulse: Pulse

    @property
    def name(self) -> str:
        """The holder that the ledger shows."""

    def wake(self) -> None:
        """There is room for jobs."""

    def unknown(self, entry: Entry, who: str) -> None:
        """A child does not know the task of this job."""

    def fail(self, error: EmqError) -> None:
        """The worker cannot do its work."""


class Processes:
    """An `Executor` of `slots` child processes that `argv` starts, each with one job at a time.

    A child that dies costs its own job, which stalls at once, and nothing else; another takes its
    place. A run that is stopped is told so, its process is killed after `STOP_GRACE` seconds if it
    has not ended by then, and only after that it is settled: two attempts never overlap. A slot
    without a child that has said it is ready counts as occupied. When no child can be kept alive,
    the worker fails with ChildrenFailed. After `most_jobs` jobs a child is replaced by a new one.
    With `rest` children are started on demand, and end when they have had no job for so long.
    """

    def __init__(
        self, argv: Sequence[str], slots: int, held: Held, ended: Ended,
        host: Callable[[], Host], most_jobs: int | None = None, rest: float | None = None,
    ) -> None:  # fmt: skip
        self._held = held
        self._ended = ended
        self._host = host
        self._board = Board(slots, on_demand=rest is not None)
        setup = Setup(
            argv, lambda: host().name, most_jobs, self._board, held, ended, self._changed,
            self._failed, lambda entry, who: host().unknown(entry, who), rest,
        )  # fmt: skip
        self._slots = [Slot(seat, setup) for seat in self._board.seats]
        self._loop: Loop | None = None
        self._saying = threading.Lock()
        self._said: str | None = None
        self._say_again_at = 0.0

    @property
    def slots(self) -> int:
        """How many handlers may run at once."""
        return len(self._slots)

    @property
    def occupied(self) -> int:
        """Slots in use, spoken for, or without a child that is ready."""
        return self._board.occupied

    @property
    def inside(self) -> int:
        """None."""
        return 0

    def start(self) -> None:
        """Start the children; each takes jobs as soon as it is ready."""
        host = self._host()
        tending = _Tending(self._board, host.pulse)
        self._loop = Loop("children", tending, host.pulse, host.fail)
        self._loop.start()
        for slot in self._slots:
            slot.start()

    def submit(self, entry: Entry) -> None:
        """Run it as soon as a child is free."""
        self._board.submit(entry)

    def stop(self, entry: Entry, ending: Ending | None) -> None:
        """Tell the child, kill it soon, then settle; at once when no child has the job."""
        if self._stop(entry, ending) != "running":
            self._settle_unrun(entry, ending)

    def stop_sql(self, entry: Entry) -> None:
        """Have the child cancel it that runs this."""
        self._board.stop_sql(entry)

    def close(self) -> None:
        """Let idle children end, and end the others."""
        self._board.close(STOP_GRACE)
        until = monotonic() + STOP_GRACE + END_PATIENCE + 1.0
        for slot in self._slots:
            slot.join(until)
        if self._loop is not None:
            self._loop.stop(1.0)

    def _stop(self, entry: Entry, ending: Ending | None) -> Place:
        grace = LOST_GRACE if ending is None else STOP_GRACE
        return self._board.stop(entry, ending, grace)

    def _settle_unrun(self, entry: Entry, ending: Ending | None) -> None:
        if ending is None:
            self._held.drop(entry)
        self._ended(entry, ending)

    def _changed(self) -> None:
        with self._saying:
            if monotonic() >= self._say_again_at:
                self._said = None
        self._host().wake()

    def _failed(self, seat: Seat, reason: str) -> None:
        if self._board.closing:
            return
        self._say(reason)
        if self._board.failed(seat):
            self._give_up(reason)

    def _give_up(self, reason: str) -> None:
        self._host().fail(
            ChildrenFailed(
                f"No child process can be kept alive: each failed {MOST_FAILURES} times in a"
                f" row, the last one {reason.splitlines()[0]}.",
                hint="The log says once what it wrote to stderr. Start the worker again.",
            )
        )

    def _say(self, reason: str) -> None:
        with self._saying:
            first, self._said = self._said is None, reason
            self._say_again_at = monotonic() + SAID_EVERY
        if first:
            log.error("a child process %s\nIt is started again, with growing pauses.", reason)


class _Tending:
    """The loop "children": kills what does not end."""

    def __init__(self, board: Board, pulse: Pulse) -> None:
        self._board = board
        self._pulse = pulse
        self._stopped = False

    def run(self) -> None:
        """Until `stop`."""
        while not self._stopped:
            self._pulse.beat("children", LONGEST_WAIT)
            self._board.tend(LONGEST_WAIT)

    def stop(self) -> None:
        """Let `run` return soon."""
        self._stopped = True
        self._board.poke()
