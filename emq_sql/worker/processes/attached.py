"""A child's tie to its worker: what it says and asks, and that it never outlives it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import traceback
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from emq_sql.errors import BadSetting
from emq_sql.worker.identity import version
from emq_sql.worker.processes.channel import Channel, ChannelEnded, Frame
from emq_sql.worker.processes.fargrip import FarGrip
from emq_sql.worker.processes.frames import SPEAKS, job_of
from emq_sql.worker.processes.spawning import ENVIRONMENT, IGNORED

_PR_SET_PDEATHSIG = 1
_STDERR = 2
_EASIER_PREY = 300  # when memory runs out, the system should rather end a child than its worker


class Attached:
    """Made first of all in a child: from then on it ends when its worker ends.

    When the channel ends, it ends; on Linux the kernel kills it as well, for handlers in C code
    that keep every other thread from running. The signals that stop a worker do nothing here: the
    worker decides. `worker` is its name, `stderr` a descriptor of its stderr until `ready`.
    Raises BadSetting when this process was not started by a worker.
    """

    def __init__(self) -> None:
        told = os.environ.pop(ENVIRONMENT, None)
        if told is None:
            what = f"This command is for the children of a worker ({ENVIRONMENT} is not set)."
            raise BadSetting(what, hint="Start emq worker --processes, which starts them.")
        fd, stderr, self.worker = told.split(":", 2)
        self.stderr = int(stderr)
        for inherited in (int(fd), self.stderr):
            os.set_inheritable(inherited, False)
        _end_with_parent()
        _ignore_signals()
        _be_easier_prey()
        self.runs: SimpleQueue[FarGrip | None] = SimpleQueue()
        self._pid = os.getpid()
        self._channel = Channel(int(fd))
        # A process that a handler forks must not hold this end open, nor speak for the child.
        os.register_at_fork(after_in_child=self._channel.close)
        self._lock = threading.Lock()
        self._asked: dict[int, Future[Any]] = {}
        self._number = 0
        self._grip: FarGrip | None = None
        threading.Thread(target=self._listen, name="emq-channel", daemon=True).start()

    def ready(self) -> None:
        """Tell the worker that jobs can be run here; stderr is the worker's from here on."""
        with contextlib.suppress(Exception):  # what was imported may have closed or replaced it
            sys.stderr.flush()
        with contextlib.suppress(OSError):
            said = os.pread(_STDERR, os.lseek(_STDERR, 0, os.SEEK_CUR), 0)
            os.dup2(self.stderr, _STDERR)
            os.write(_STDERR, said)
        os.close(self.stderr)
        _ignore_signals()  # what was imported may have had ideas of its own
        signal.pthread_sigmask(signal.SIG_UNBLOCK, IGNORED)
        self.say({"kind": "ready", "speaks": SPEAKS, "version": version()})

    def say(self, frame: Frame) -> None:
        """Tell the worker."""
        try:
            self._channel.send(frame)
        except ChannelEnded:
            if os.getpid() != self._pid:  # forked by a handler: the job is not its own
                raise
            os._exit(1)

    def ask(self, frame: Frame) -> Future[Any]:
        """Ask the worker: the answer to come."""
        answer: Future[Any] = Future()
        answer.set_running_or_notify_cancel()
        with self._lock:
            self._number += 1
            number = self._number
            self._asked[number] = answer
        self.say({**frame, "n": number})
        return answer

    def _listen(self) -> None:
        try:
            while True:
                self._heard(self._channel.receive())
        except ChannelEnded:
            pass  # there is no worker any more, so there is nothing to be done here
        except BaseException:  # noqa: BLE001 - a child that cannot hear is no good
            traceback.print_exc()
        os._exit(1)

    def _heard(self, frame: Frame) -> None:
        kind = frame["kind"]
        if kind == "run":
            self._grip = FarGrip(job_of(frame), self)
            self.runs.put(self._grip)
        elif kind == "end":
            self.runs.put(None)
        elif kind == "answer":
            with self._lock:
                answer = self._asked.pop(frame["n"])
            answer.set_result(frame["value"])
        elif self._grip is not None and frame["fence"] == self._grip.claimed.lease.fence:
            if kind == "stop sql":
                self._grip.stop_sql()
                return
            self._grip.cancelled.tell(frame["reason"])
            if kind == "stop":
                self._grip.stopping.tell(frame["reason"])


def _end_with_parent() -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _ignore_signals() -> None:
    # A handler in Python and not SIG_IGN, which the programs that handlers start would inherit.
    for number in IGNORED:
        signal.signal(number, lambda *_: None)
    # A child is no job of the terminal's foreground, and may write there all the same.
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)


def _be_easier_prey() -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError, ValueError):
            score = Path("/proc/self/oom_score_adj")
            score.write_text(f"{min(int(score.read_text()) + _EASIER_PREY, 1000)}")
