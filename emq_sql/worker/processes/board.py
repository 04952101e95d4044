"""Who runs what: the seats of the children, and the line before them."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from time import monotonic
from typing import Literal

from emq_sql.worker.endings import Ending
from emq_sql.worker.entry import Entry
from emq_sql.worker.processes.spawning import Child
from emq_sql.worker.processes.waking import Waker

Place = Literal["running", "waiting", "nowhere"]

MOST_FAILURES = 6  # of each seat, one after the other, before all are given up


@dataclass(slots=True)
class Stop:
    """A run should end; at `kill_at` (monotonic clock) its child is killed."""

    ending: Ending | None
    kill_at: float
    killed: bool = False


@dataclass(slots=True, eq=False)
class Seat:
    """Room for one child. Everything but `waker` is guarded by the board."""

    number: int
    waker: Waker = field(default_factory=Waker)
    child: Child | None = None
    ready: bool = False  # the child has said that it can run jobs
    idle: bool = False  # and runs none
    coming: bool = False  # a child is started, on demand, for a job that waits
    entry: Entry | None = None
    again: bool = False  # an earlier child died before it had begun this very job
    stop: Stop | None = None
    stop_sql: Entry | None = None  # the run whose SQL should be cancelled, not told yet
    failures: int = 0


class Board:
    """Thread safety: every method takes the one lock, none waits but `tend`, none calls out.

    On demand a seat has a child only while there is something to do, and counts as occupied only
    while it has a job.
    """

    def __init__(self, slots: int, *, on_demand: bool = False) -> None:
        self._on_demand = on_demand
        self.seats = [Seat(number) for number in range(slots)]
        self._line: deque[tuple[Entry, bool]] = deque()
        self._changed = threading.Condition()
        self._closing = False

    @property
    def occupied(self) -> int:
        """Seats that are not ready for a job, and jobs that wait for one."""
        with self._changed:
            if self._on_demand:
                return sum(seat.entry is not None for seat in self.seats) + len(self._line)
            return sum(not seat.idle for seat in self.seats) + len(self._line)

    @property
    def closing(self) -> bool:
        """Whether all should end."""
        with self._changed:
            return self._closing

    def submit(self, entry: Entry) -> None:
        """To an idle seat, or to the end of the line."""
        with self._changed:
            for seat in self.seats:
                if seat.idle:
                    seat.idle, seat.entry, seat.again = False, entry, False
                    seat.waker.wake()
                    return
            self._line.append((entry, False))
            self._wake_sleepers()

    def wanted(self, seat: Seat) -> bool:
        """Whether this seat should start a child now: on demand, one for each job that waits."""
        with self._changed:
            if self._on_demand:
                coming = sum(other.coming for other in self.seats if other is not seat)
                seat.coming = len(self._line) > coming
                return seat.coming
            return True

    def retires(self, seat: Seat) -> bool:
        """The child of this seat, which rests, is let go; False when there is something to do."""
        with self._changed:
            if seat.entry is not None or self._line:
                return False
            seat.idle = False
            return True

    def take_line(self) -> list[Entry]:
        """All that waits; it waits here no longer."""
        with self._changed:
            waiting = [entry for entry, _ in self._line]
            self._line.clear()
            return waiting

    def next(self, seat: Seat) -> Entry | None:
        """The job that this seat should run now; None when there is none, and it is idle."""
        with self._changed:
            seat.coming = False
            if seat.entry is None and self._line:
                seat.entry, seat.again = self._line.popleft()
            seat.idle = seat.entry is None
            return seat.entry

    def back(self, seat: Seat, entry: Entry) -> bool:
        """The child of this seat died before it had begun: the job goes to the head of the line.

        Only once, or a job whose mere arrival kills could go on for ever; and not when all end.
        """
        with self._changed:
            if self._closing or seat.again:
                return False
            self._line.appendleft((entry, True))
            for other in self.seats:
                if other.idle:
                    other.waker.wake()
            self._wake_sleepers()
            return True

    def over(self, seat: Seat, *, free: bool) -> Stop | None:
        """The run here is over, and the seat `free` for another; whether a stop was asked for."""
        with self._changed:
            stop, seat.stop = seat.stop, None
            seat.entry = None
            seat.failures = 0
            seat.idle = free and not self._line and not (stop and stop.killed)
            return stop

    def stop(self, entry: Entry, ending: Ending | None, grace: float) -> Place:
        """Kill what runs this after `grace` seconds; where it was: it waits no longer."""
        with self._changed:
            for waiting in self._line:
                if waiting[0] is entry:
                    self._line.remove(waiting)
                    return "waiting"
            for seat in self.seats:
                if seat.entry is entry:
                    self._stop(seat, ending, monotonic() + grace)
                    return "running"
            return "nowhere"

    def asked_to_stop(self, seat: Seat) -> bool:
        """Whether the run here should end."""
        with self._changed:
            return seat.stop is not None

    def stop_sql(self, entry: Entry) -> None:
        """Its SQL should be cancelled, if it runs here."""
        with self._changed:
            for seat in self.seats:
                if seat.entry is entry:
                    seat.stop_sql = entry
                    seat.waker.wake()

    def asked_to_stop_sql(self, seat: Seat) -> bool:
        """Whether that is to be told of the run here; said once."""
        with self._changed:
            asked, seat.stop_sql = seat.stop_sql, None
            return asked is not None and asked is seat.entry

    def lives(self, seat: Seat, child: Child) -> None:
        """A child was started for this seat."""
        with self._changed:
            seat.child = child

    def is_ready(self, seat: Seat) -> None:
        """It can run jobs."""
        with self._changed:
            seat.ready = True

    def dies(self, seat: Seat) -> tuple[Entry | None, Stop | None]:
        """Nobody may kill it any more but who buries it; what it ran, and the stop asked for."""
        with self._changed:
            entry, seat.entry = seat.entry, None
            stop, seat.stop = seat.stop, None
            seat.child, seat.ready, seat.idle, seat.coming = None, False, False, False
            return entry, stop

    def failed(self, seat: Seat) -> bool:
        """Its child did not start, or died with nothing to do; whether there is no hope for any."""
        with self._changed:
            seat.failures += 1
            if self._on_demand and seat.failures >= MOST_FAILURES:  # others need not have tried
                return not any(seat.ready for seat in self.seats)
            return not any(seat.ready or seat.failures < MOST_FAILURES for seat in self.seats)

    def left(self, seat: Seat) -> None:
        """Its thread has ended."""
        with self._changed:
            seat.idle = True

    def close(self, grace: float) -> None:
        """Let idle children go, and kill the others after `grace` seconds."""
        with self._changed:
            self._closing = True
            self._line.clear()
            for seat in self.seats:
                if seat.entry is not None:
                    self._stop(seat, None, monotonic() + grace)
                seat.waker.wake()

    def tend(self, longest: float) -> None:
        """Kill those whose time is up, and wait until there may be more, or `longest` seconds."""
        with self._changed:
            now = monotonic()
            until = now + longest
            for seat in self.seats:
                stop = seat.stop
                if stop is None or stop.killed or seat.child is None:
                    continue
                if stop.kill_at <= now:
                    seat.child.kill()
                    stop.killed = True
                else:
                    until = min(until, stop.kill_at)
            self._changed.wait(until - now)

    def poke(self) -> None:
        """Let who tends look again."""
        with self._changed:
            self._changed.notify_all()

    def _wake_sleepers(self) -> None:
        if self._on_demand:
            for seat in self.seats:
                if seat.child is None:
                    seat.waker.wake()

    def _stop(self, seat: Seat, ending: Ending | None, kill_at: float) -> None:
        known = seat.stop
        if known is None:
            seat.stop = Stop(ending, kill_at)
        else:
            known.ending = known.ending or ending
            known.kill_at = min(known.kill_at, kill_at)
        seat.waker.wake()
        self._changed.notify_all()
