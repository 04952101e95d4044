"""Runs handlers in a fixed number of threads."""

from __future__ import annotations

import contextvars
import ctypes
import logging
import random
import threading
from collections import deque
from collections.abc import Awaitable
from typing import Protocol

from emq_sql.rules import verdict
from emq_sql.worker.effects import Effects
from emq_sql.worker.endings import Ending
from emq_sql.worker.entry import Entry
from emq_sql.worker.executor import Ended, left_to_settle
from emq_sql.worker.grip import NearGrip
from emq_sql.worker.held import Held
from emq_sql.worker.hooks import Hooks
from emq_sql.worker.records import about
from emq_sql.worker.running import Run, awaitable
from emq_sql.worker.threadslot import ThreadSlot

log = logging.getLogger("emq_sql.worker")

_send = ctypes.pythonapi.PyThreadState_SetAsyncExc


class Loop(Protocol):
    """Where awaitables go that a handler in a thread returns."""

    def adopt(
        self, entry: Entry, run: Run, value: Awaitable[object], context: contextvars.Context
    ) -> None:
        """Run it on."""

    def stop(self, entry: Entry, ending: Ending | None) -> bool:
        """End it and settle it; False when it does not run there."""


class Threads:
    """An `Executor` of `slots` daemon threads.

    A thread cannot be ended: a run that is stopped is settled at once, and its thread keeps the
    slot until the handler returns. An awaitable that a handler returns is given to `loop`, which
    runs it on; this slot is free then. A handler that forks and returns in the child as well ends
    that child there.

    Whatever is raised in a thread, and wherever (another thread may send it an exception that
    arrives when its handler has returned), the run ends, as a failure if need be, and the slot
    goes on; a thread that dies is replaced.
    """

    def __init__(self, slots: int, held: Held, effects: Effects, ended: Ended, loop: Loop) -> None:
        self._held = held
        self._effects = effects
        self._ended = ended
        self._loop = loop
        self._rng = random.Random()  # noqa: S311 - jitter, not a secret
        self._lock = threading.Lock()
        self._slots = [ThreadSlot(number) for number in range(slots)]
        self._idle = list(self._slots)
        self._line: deque[Entry] = deque()
        self._closed = False

    @property
    def slots(self) -> int:
        """How many handlers may run at once."""
        return len(self._slots)

    @property
    def occupied(self) -> int:
        """Slots in use or spoken for."""
        with self._lock:
            return len(self._slots) - len(self._idle) + len(self._line)

    def start(self) -> None:
        """Start the threads."""
        for slot in self._slots:
            self._start(slot)

    def submit(self, entry: Entry) -> None:
        """Run it as soon as a slot is free."""
        with self._lock:
            if not self._idle:
                self._line.append(entry)
                return
            slot = self._idle.pop()
            slot.gets(entry)
        if slot.thread != threading.get_ident():  # which looks before it rests
            slot.wake.put(None)

    def stop(self, entry: Entry, ending: Ending | None) -> None:
        """Settle it; its handler is told, and nothing more can be done."""
        if ending is not None:
            self._ended(entry, ending)

    def close(self) -> None:
        """Let idle threads end; nobody waits for the others."""
        self._closed = True
        for slot in self._slots:
            slot.wake.put(None)

    def _start(self, slot: ThreadSlot) -> None:
        threading.Thread(
            target=self._live, args=(slot,), name=f"emq-slot-{slot.number}", daemon=True
        ).start()

    def _live(self, slot: ThreadSlot) -> None:
        try:
            self._work(slot)
        except BaseException:
            log.exception("the thread of slot %d has died and is replaced", slot.number)
            self._start(slot)

    def _work(self, slot: ThreadSlot) -> None:
        slot.thread = threading.get_ident()
        hooks = Hooks()
        while True:
            # What a slot has to do is written down in it, step by step, so that after an exception
            # at any place it is known where to go on.
            try:
                if slot.run is not None:
                    self._recover(slot, slot.run)
                elif slot.told is not None:
                    self._tell(slot)
                elif slot.entry is not None:
                    self._run(slot, slot.entry, hooks)
                elif self._closed:
                    return
                else:
                    self._rest(slot)
            except BaseException as error:  # noqa: BLE001 - a job ends, not the slot
                slot.trouble = error

    def _run(self, slot: ThreadSlot, entry: Entry, hooks: Hooks) -> None:
        self._leaves_line(entry)
        handler = entry.handler
        if handler is None or not self._held.starts(entry):
            self._held.drop(entry)
            self._over(slot, entry, None)
            return
        run = Run(handler, NearGrip(entry, self._held, self._ended), self._effects, self._rng)
        # A context of its own: what one job sets, the next one in this thread must not see.
        context = contextvars.Context()
        trouble: BaseException | None = None
        value: object = None
        waits: Awaitable[object] | None = None
        slot.run = run
        try:
            value = context.run(run.call)
            waits = awaitable(value)
        except BaseException as error:  # noqa: BLE001 - also SystemExit: a job ends, not the worker
            trouble = error
        hooks.put_back()
        if waits is not None:
            run.leave_fork(None)
            self._loop.adopt(entry, run, waits, context)
            self._free(slot)
            return
        ending = run.ending(value, trouble)
        slot.decided = entry.decided
        slot.ending = ending
        self._over(slot, entry, left_to_settle(self._held, entry, ending, trouble))

    def _over(self, slot: ThreadSlot, entry: Entry, ending: Ending | None) -> None:
        slot.told = entry, ending
        self._free(slot)
        self._tell(slot)

    def _tell(self, slot: ThreadSlot) -> None:
        told = slot.told
        if told is not None:
            self._ended(*told)
            slot.told = None

    def _free(self, slot: ThreadSlot) -> None:
        # What was sent to the handler and is late must not strike the next one.
        _send(ctypes.c_ulong(slot.thread), None)
        with self._lock:
            slot.is_free()
            self._seek(slot)

    def _rest(self, slot: ThreadSlot) -> None:
        if slot.trouble is not None:
            said = "%s was raised in the idle thread of slot %d, which goes on"
            log.warning(said, verdict.headline(slot.trouble), slot.number)
            slot.trouble = None
        with self._lock:
            if slot.entry is None:
                self._seek(slot)
        if slot.entry is None:
            slot.wake.get()

    def _seek(self, slot: ThreadSlot) -> None:
        if self._line:
            slot.gets(self._line[0])
            self._line.popleft()
        elif slot not in self._idle:
            self._idle.append(slot)

    def _leaves_line(self, entry: Entry) -> None:
        """It does already, unless something was raised between the two lines of `_seek`."""
        if self._line and self._line[0] is entry:
            with self._lock:
                self._line.popleft()

    def _recover(self, slot: ThreadSlot, run: Run) -> None:
        """Something was raised after its handler was called, and not by its handler."""
        entry, trouble = slot.entry, slot.trouble or RuntimeError("The thread of its slot died.")
        if entry is None or slot.told is not None:
            self._free(slot)
            return
        extra = about(entry.claimed)
        said = "%s: %s was raised in its thread after its handler; the slot goes on"
        log.error(said, entry, verdict.headline(trouble), extra=extra)
        ending = slot.ending or run.ending(None, trouble, befell=True)
        # Decided between those two lines: by this thread, for all that is known. If somebody else
        # did, one of two endings is refused.
        first = self._held.decide(entry) or (slot.ending is not None and not slot.decided)
        if first and self._loop.stop(entry, ending):
            self._free(slot)
        else:
            self._over(slot, entry, ending if first else None)
