"""One slot: the thread that starts a child, talks to it, buries it, and starts the next one."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from time import monotonic

from emq_sql.protocol.patience import Patience
from emq_sql.worker.endings import Ending, Released, Stalled
from emq_sql.worker.entry import Entry
from emq_sql.worker.executor import Ended
from emq_sql.worker.held import Held
from emq_sql.worker.identity import version
from emq_sql.worker.processes.board import Board, Seat
from emq_sql.worker.processes.channel import ChannelEnded, Rubbish
from emq_sql.worker.processes.frames import SPEAKS
from emq_sql.worker.processes.spawning import IGNORED, Child, how_it_ended
from emq_sql.worker.processes.talk import Talk, settle
from emq_sql.worker.records import about

log = logging.getLogger("emq_sql.worker.children")

START_LIMIT = 300.0  # seconds until a child must be ready: it may have much to import
END_PATIENCE = 3.0  # seconds for an idle child to end by itself


@dataclass(frozen=True, slots=True)
class Setup:
    """What all slots have in common.

    `changed` is called when a child is ready for jobs, `failed` with a seat whose child did not
    start (or died with nothing to do) and the reason, `unknown` with a job whose task a child does
    not know and who that is. After `rest` seconds without a job a child is let go, if that is set.
    """

    argv: Sequence[str]
    worker: Callable[[], str]
    most_jobs: int | None
    board: Board
    held: Held
    ended: Ended
    changed: Callable[[], None]
    failed: Callable[[Seat, str], None]
    unknown: Callable[[Entry, str], None]
    rest: float | None


class Slot:
    """Children of this slot start in one thread, for they end with the thread that started them."""

    def __init__(self, seat: Seat, setup: Setup) -> None:
        self._seat = seat
        self._setup = setup
        self._board = setup.board
        self._patience = Patience()
        self._thread = threading.Thread(
            target=self._work, name=f"emq-child-{seat.number}", daemon=True
        )

    def start(self) -> None:
        """Start the thread, and with it the first child."""
        self._thread.start()

    def join(self, until: float) -> None:
        """Wait for the end of both, at most until this instant of the monotonic clock."""
        self._thread.join(max(until - monotonic(), 0.0))

    def _work(self) -> None:
        # Children inherit this: no signal can end one before it has said that it ignores it.
        signal.pthread_sigmask(signal.SIG_BLOCK, IGNORED)
        while not self._board.closing:
            if not self._board.wanted(self._seat):
                wait([self._seat.waker.fileno()])
                self._seat.waker.woken()
                continue
            try:
                self._try_one()
            except Exception:
                log.exception("the slot %d failed and goes on", self._seat.number)
                self._pause(self._patience.pause())
        self._board.left(self._seat)

    def _try_one(self) -> None:
        failure = self._one_child()
        if failure is None:
            self._patience.succeeded()
            return
        self._setup.failed(self._seat, failure)
        self._pause(self._patience.pause())

    def _one_child(self) -> str | None:
        """From its start to its end; why it is no good, if it is not."""
        setup = self._setup
        try:
            child = Child(setup.argv, setup.worker())
        except OSError as error:
            return f"{setup.argv[0]} could not be started: {error}"
        self._board.lives(self._seat, child)
        talk = Talk(
            child, self._seat, self._board, setup.held, setup.ended, setup.changed, setup.unknown,
            setup.most_jobs, setup.rest,
        )  # fmt: skip
        try:
            why = self._until_ready(child)
            if why is None:
                self._board.is_ready(self._seat)
                child.forget_words()
                why = self._until_end(child, talk)
            elif words := child.words():
                why = f"{why}\n{words}"
        except Exception:
            log.exception("the conversation with child %d failed", child.pid)
            return self._bury(child, talk, "was ended by a fault of the worker's", Released())
        return self._bury(child, talk, why)

    def _until_ready(self, child: Child) -> str | None:
        """Wait until the child is ready; else why it is not."""
        until = monotonic() + START_LIMIT
        while not self._board.closing:
            heard = child.hear(self._seat.waker, until - monotonic())
            if heard == "frame":
                return self._greeted(child)
            if heard == "end":
                return ""
            if monotonic() >= until:
                return f"was not ready after {START_LIMIT:g} s, and was ended"
        return ""  # nobody needs it any more

    def _greeted(self, child: Child) -> str | None:
        try:
            frame = child.channel.receive()
        except ChannelEnded:
            return ""
        except Rubbish as error:
            return f"does not speak as a child of a worker does ({error})"
        if frame["kind"] != "ready" or frame.get("speaks") != SPEAKS:
            return (
                f"runs emq_sql {frame.get('version')}, the worker {version()}: restart the worker"
            )
        return None

    def _until_end(self, child: Child, talk: Talk) -> str | None:
        """Talk until it is let go (None), or has died (empty), or why it must be ended."""
        try:
            talk.go_on()
            child.channel.send({"kind": "end"})
        except ChannelEnded:
            return ""
        except Rubbish as error:
            return f"wrote into its channel what is no frame ({error}), and was ended"
        if not child.wait(END_PATIENCE):
            log.info("the child process %d does not end by itself and is killed", child.pid)
        return None

    def _bury(
        self, child: Child, talk: Talk, why: str | None, ending: Ending | None = None
    ) -> str | None:
        """Make sure that it has ended, then settle what it ran; why it is no good, if it is not."""
        board, setup = self._board, self._setup
        entry, stop = board.dies(self._seat)
        if why is not None or not child.has_ended():
            child.kill()
        how = how_it_ended(child.bury())
        if why is not None:
            how = f"{how}{why}" if why.startswith("\n") else why or how
        errand, ordered = talk.errand, stop is not None and stop.killed
        if errand is not None:
            errand.close()
        if entry is None:
            return None if why is None or ordered or board.closing else how
        if (
            stop is None
            and (errand is None or not errand.started)
            and board.back(self._seat, entry)
        ):
            return how
        if stop is not None and stop.ending is None:
            setup.held.drop(entry)
        if not ordered:
            said = about(entry.claimed)
            log.info("the process %d that ran %s %s", child.pid, entry, how, extra=said)
        ending = ending or Stalled(_sentence(f"The process that ran it {how}"))
        settle(setup.held, setup.ended, entry, ending, stop)
        return None

    def _pause(self, seconds: float) -> None:
        until = monotonic() + seconds
        while not self._board.closing and (left := until - monotonic()) > 0:
            wait([self._seat.waker.fileno()], left)
            self._seat.waker.woken()


def _sentence(text: str) -> str:
    return text if text.endswith("?") else f"{text}."
