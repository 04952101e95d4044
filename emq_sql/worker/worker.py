"""The loop of a worker: settle what has ended, claim what there is room for, wait."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any
from uuid import UUID

import psycopg

from emq_sql.crashpoints import crash_point
from emq_sql.errors import BadInput, EmqError, Refused, Retryable
from emq_sql.job import Answer, Claimed
from emq_sql.protocol import claiming
from emq_sql.protocol.link import Connect, Link
from emq_sql.rules.verdict import Completed
from emq_sql.worker.ahead import Ahead
from emq_sql.worker.alone import Alone
from emq_sql.worker.bell import Bell
from emq_sql.worker.buffer import Buffer
from emq_sql.worker.chances import Chances
from emq_sql.worker.claiming import Claimer, Request
from emq_sql.worker.effects import Effects
from emq_sql.worker.endings import Ending, Released, Settlement
from emq_sql.worker.entry import Entry
from emq_sql.worker.executor import Ended, Executor
from emq_sql.worker.handler import Handler
from emq_sql.worker.held import Held
from emq_sql.worker.identity import Identity
from emq_sql.worker.inprocess import InProcess
from emq_sql.worker.intake import Intake
from emq_sql.worker.keeper import Keeper
from emq_sql.worker.loops import Loop
from emq_sql.worker.presence import Presence
from emq_sql.worker.pulse import Pulse
from emq_sql.worker.records import about
from emq_sql.worker.refusals import Refusals
from emq_sql.worker.settings import WorkerSettings
from emq_sql.worker.settling import Settler
from emq_sql.worker.trying import Trying
from emq_sql.worker.unknown import Unknown
from emq_sql.worker.watch import Watch

MakeExecutor = Callable[[Held, Ended], Executor]

log = logging.getLogger("emq_sql.worker")

LONGEST_WAIT = 30.0
RELEASE_PATIENCE = 5.0  # seconds to give everything back at the end


class Worker:
    """Runs jobs of some queues in `settings.slots` slots until it is told to stop.

    `connect` gives a new autocommit connection; one is used here and one by the keeper, whatever
    the concurrency. `effects` is what handlers do in their own
    transactions. `make_executor(held, ended)` makes what runs handlers, if not this process.
    `drain`, `release_now` and `wake` may be called from any thread and from signal handlers;
    everything else belongs to the thread that calls `run`.
    """

    def __init__(
        self,
        connect: Connect,
        schema: str,
        handlers: Mapping[str, Handler],
        settings: WorkerSettings,
        effects: Effects,
        make_executor: MakeExecutor | None = None,
    ) -> None:
        self._identity = Identity()
        self._connect = connect
        self._schema = schema
        self._handlers = handlers
        self._settings = settings
        self._effects = effects
        self.pulse = Pulse()
        self._link = Link(
            connect, f"emq claim {self.name}", around=lambda: self.pulse.asking("main")
        )
        self._held = Held()
        # Endings, queues that were rung for, or None to look around. A SimpleQueue is the one
        # queue that a signal handler may put into.
        self._inbox: SimpleQueue[Settlement | str | None] = SimpleQueue()
        self._executor = Buffer(make_executor or self._in_process, self._held, self._ended)
        self._ahead = Ahead(self._executor, settings.prefetch)
        self._claimer = Claimer(settings, schema, handlers)
        self._unknown = Unknown(self.pulse)
        notes = self._held.refusals
        self._refusals = Refusals(self._link, schema, notes, self.pulse)
        notes.heard = lambda: self._inbox.put(None)
        chances = Chances(self._link, schema)
        self._alone = Alone(self._held, self._executor, burst=settings.burst)
        self._intake = Intake(
            self._held, self._executor, self._ended, self._unknown, chances, self._alone
        )
        self._presence = Presence(schema, self.name, settings)
        self._trying = Trying()
        self._drain_by: float | None = None
        self._draining = False
        self._released_all = True
        self._failed: EmqError | None = None

    @property
    def name(self) -> str:
        """`host:pid:boot`: the holder that the ledger shows."""
        return self._identity.name

    @property
    def hanging(self) -> int:
        """Handlers that still run; after `run` they are those that nobody waits for."""
        return self._executor.occupied

    @property
    def released_all(self) -> bool:
        """After `run`: whether every job was settled or given back."""
        return self._released_all

    def drain(self) -> None:
        """Claim nothing more; handlers may run on for `grace`, then what is left is released."""
        if self._drain_by is None:
            self._drain_by = monotonic() + self._settings.grace.total_seconds()
        self._stop_claiming()

    def release_now(self) -> None:
        """Claim nothing more and release what is held, at no cost for the jobs."""
        self._drain_by = monotonic()
        self._stop_claiming()

    def fail(self, error: EmqError) -> None:
        """Release what is held and let `run` raise this: the worker cannot do its work any more."""
        self._failed = error
        self._inbox.put(None)

    def wake(self, queue: str | None = None) -> None:
        """There may be jobs in this queue (None: in any)."""
        self._inbox.put("" if queue is None else queue)

    def rung_for(self, job: UUID) -> None:
        """An operator has done something about this job, which may run here."""
        self._held.ring(job)

    def unknown(self, entry: Entry, who: str) -> None:
        """`who`, a child of this worker, knows no such task as this job's; from any thread."""
        self._unknown.met(entry, who)

    def hear(self, bell: Bell) -> None:
        """Tell this bell, which calls `wake`, which queues are waited for. Before `run`."""
        self._claimer.bell = bell

    def run(self) -> None:
        """Work until `drain` or `release_now`, or in a burst until the queues are empty.

        Raises Refused or a SchemaError when the server keeps refusing the claims, LoopFailed when a
        control loop cannot be kept alive; the jobs held by then are released first.
        """
        self._settler = Settler(self._link, self._schema, self._held, self.pulse)
        keeper_link = Link(
            self._connect, f"emq keep {self.name}", around=lambda: self.pulse.asking("keeper")
        )
        keeper = Keeper(
            keeper_link, self._schema, self._held, self._settings.queues, self._executor.stop,
            self._executor.stop_sql, self._presence.seen, self.wake, self.pulse,
        )  # fmt: skip
        watch = Watch(self._held, self._executor.stop, self.pulse)
        keeping = Loop("keeper", keeper, self.pulse, self.fail)
        watching = Loop("watch", watch, self.pulse, self.fail)
        self._executor.start()
        keeping.start()
        watching.start()
        try:
            while not self._over():
                self._read_inbox(self._drain_by)
                if (failed := self._failed or keeper.gave_up) is not None:
                    raise failed
                self._say_draining()
                self._give_back_waiting()
                self._trying.once(self._turn)
        finally:
            self._release_all()
            self._close_executor()
            watching.stop()
            keeping.stop(RELEASE_PATIENCE)
            self._presence.gone(self._link)
            self._link.close()

    def _stop_claiming(self) -> None:
        self.pulse.drains()
        self._link.hurry(RELEASE_PATIENCE)
        self._inbox.put(None)

    def _over(self) -> bool:
        idle = self._idle()
        if self._drain_by is not None:  # claims that may have committed are waited for afterwards
            left = len(self._held) or len(self._settler)
            return not left or monotonic() >= self._drain_by
        return self._settings.burst and idle and self._claimer.all_empty

    def _idle(self) -> bool:
        told = not (len(self._settler) or len(self._refusals))
        return told and not (len(self._held) or self._claimer.doubts)

    def _read_inbox(self, until: float | None) -> None:
        pause = self._pause(until)
        closed = self._alone.not_before() is not None
        used = self._executor.running
        self.pulse.works(self._settings.slots, used, len(self._held), closed=closed)
        self.pulse.beat("main", pause, self._trying.trouble)
        try:
            item = self._inbox.get(timeout=pause)
            self._ahead.gather()
            while True:
                self._received(item)
                item = self._inbox.get_nowait()
        except Empty:
            pass

    def _say_draining(self) -> None:
        if self._drain_by is not None and not self._draining:
            self._draining = True
            left = max(self._drain_by - monotonic(), 0.0)
            log.info("claims nothing more; %d jobs may run on for %.1f s", len(self._held), left)

    def _received(self, item: Settlement | str | None) -> None:
        if isinstance(item, Settlement):
            self._ahead.ended()
            self._settler.add(item)
            if self._settings.burst:  # what has run may have enqueued more
                self._claimer.rung(None)
        elif item is not None:
            self._claimer.rung(item or None)

    def _give_back_waiting(self) -> None:
        """What waits in this worker and may not, or not any more, goes back to the line unrun."""
        closed = self._drain_by is not None or self._alone.not_before() is not None
        for entry in self._ahead.give_back(monotonic(), closed=closed):
            if self._held.decide(entry):
                self._settler.add(Settlement(entry, Released()))

    def _pause(self, until: float | None) -> float:
        now = monotonic()
        claiming = self._free() > 0
        due = min(self._settler.next_due(), self._refusals.next_due())
        due = min(due, self._ahead.next_due())
        due = min(due, self._claimer.next_due(claiming=claiming))
        due = max(min(due, self._alone.not_before() or due), self._trying.again_at)
        if until is not None:
            due = min(due, until)
        return max(min(due - now, LONGEST_WAIT), 0.0)

    def _turn(self, now: float) -> bool:
        """Whether the database was asked something in it, and refused nothing as a whole."""
        answered, refused = self._link.answered, self._settler.refusals
        self._settle_and_claim(now)
        return self._link.answered > answered and self._settler.refusals == refused

    def _settle_and_claim(self, now: float) -> None:
        if self._claimer.doubts:
            self._take_in(self._claimer.read_back(self._link.call, now))
        batch = self._settler.completions(now)
        try:
            free = self._free(len(batch))
            self._claimer.hold_back(self._held.pauses.known_at())
            request = self._claimer.next(free, now, along=bool(batch))
            if batch:
                crash_point("before-complete")
            if request is None:
                self._settler.complete(batch)
                self._ahead.told()
            else:
                self._claim(request, batch)
        finally:
            self._settler.put_down(batch)
        self._settler.settle_others(now)
        self._refusals.send(now)

    def _free(self, completing: int = 0) -> int:
        """How many jobs may be claimed. Finished ones count until they are settled, unless an open
        transaction of somebody else's holds them up: that costs no slot, within reason.
        """
        slots = self._settings.slots + self._ahead.room(len(self._held))
        if self._drain_by is not None or not self._held.keeping or self._settler.busy > slots:
            return 0
        if self._alone.not_before() is not None:
            return 0
        unsettled = len(self._settler) - self._settler.busy - completing
        return self._alone.most(slots - self._executor.occupied - max(unsettled, 0))

    def _claim(self, request: Request, batch: Sequence[Settlement]) -> None:
        crash_point("before-claim")
        try:
            if batch:
                answers, claimed = self._link.call(
                    lambda conn: self._complete_and_claim(conn, request, batch)
                )
            else:
                claimed = self._link.call(lambda conn: self._claimer.send(conn, request, self.name))
        except (Refused, BadInput) as error:
            self._settler.refused(batch, error)
            raise
        except Retryable:
            raise  # nothing was done: there is nothing to read back
        except EmqError:
            self._claimer.doubt(request)
            self._settler.unsure(batch)
            raise
        crash_point("after-claim")
        self.pulse.claims()
        for queue in {job.queue for job in claimed}:
            if self._held.pauses.runs(queue, request.sent):
                log.info("the queue %s is resumed", queue)
                self.pulse.pauses(self._held.pauses.known_at())
        self._take_in(self._claimer.answered(request, claimed))
        if batch:
            self._settler.completed(batch, answers)
            self._ahead.told()

    def _complete_and_claim(
        self, conn: psycopg.Connection[Any], request: Request, batch: Sequence[Settlement]
    ) -> tuple[list[Answer], list[Claimed]]:
        done = [(s.entry.lease, s.ending.result) for s in batch if isinstance(s.ending, Completed)]
        return claiming.complete_and_claim(
            conn, self._schema, done, request.queues[0], request.n, self.name, request.nonce,
            self._settings.lease,
        )  # fmt: skip

    def _take_in(self, entries: Sequence[Entry]) -> None:
        if self._drain_by is None:
            if not self._intake.admit(entries):  # some wait for this worker or another one
                self._claimer.rung(None)
        else:  # the claiming had ended before the answer came
            self._intake.give_back(entries)

    def _in_process(self, held: Held, ended: Ended) -> Executor:
        return InProcess(self._settings.slots, held, self._effects, ended)

    def _close_executor(self) -> None:
        try:
            self._executor.close()
        except Exception:  # what keeps leases has yet to end
            log.exception("what runs handlers could not be closed")

    def _ended(self, entry: Entry, ending: Ending | None) -> None:
        self._inbox.put(None if ending is None else Settlement(entry, ending))

    def _release_all(self) -> None:
        """Settle what has ended, release the rest; bounded, since a lease ends by itself."""
        until = monotonic() + RELEASE_PATIENCE
        self._drain_by = self._drain_by or monotonic()
        for entry in self._held.entries():
            self._intake.release(entry)
        if self._claimer.doubts:
            said = "a claim was not answered: for %g s at most it is asked for what it may hold"
            log.info(said, RELEASE_PATIENCE)
        while not self._idle() and monotonic() < until:
            self._read_inbox(until)
            self._trying.quietly(self._turn)
        self._refusals.give_up()
        for entry in self._held.entries():
            extra = about(entry.claimed)
            log.error("%s could not be released; its lease ends by itself", entry, extra=extra)
        if self._claimer.unread:
            log.error("a claim was not answered; what it may hold comes back when its lease ends")
        self._released_all = not (len(self._held) or self._claimer.unread)
