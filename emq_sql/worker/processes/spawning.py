"""Starting one child, and saying how one ended."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from multiprocessing.connection import wait
from time import monotonic, sleep
from typing import IO, Literal

from emq_sql.worker.processes.channel import LONGEST_FROM_CHILD, Channel
from emq_sql.worker.processes.waking import Waker

Heard = Literal["frame", "end", "nothing"]

ENVIRONMENT = "EMQ_SQL_CHILD"  # tells a child its channel, the worker's stderr and its name
IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)  # what they mean the worker decides

LOOK_EVERY = 1.0  # seconds, where the system does not say when a child ends
SHORT_LOOK = 0.05

_LONGEST_WORDS = 4_000


class Child:
    """A process that was started to run handlers, and the parent's end of its channel.

    It has no descriptor of the parent's but the channel, stdout and stderr; stdin is empty. Until
    it is ready its stderr goes into a file, so that the parent can say why it did not start. It
    leads a process group of its own: what a handler has started is ended with it.
    """

    def __init__(self, argv: Sequence[str], worker: str) -> None:
        """Start it; raises OSError when there is no such program, or no room for a process.

        On Linux a child ends when the *thread* that started it ends: start it in one that stays.
        """
        ours, theirs = socket.socketpair()
        self._words: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - `bury` closes it
        try:
            with theirs, _stderr() as stderr:
                told = f"{theirs.fileno()}:{stderr.fileno()}:{worker}"
                self._process = subprocess.Popen(
                    argv, stdin=subprocess.DEVNULL, stderr=self._words, process_group=0,
                    pass_fds=(theirs.fileno(), stderr.fileno()),
                    env={**os.environ, ENVIRONMENT: told},
                )  # fmt: skip
        except BaseException:
            ours.close()
            self._words.close()
            raise
        self.channel = Channel(ours.detach(), LONGEST_FROM_CHILD)
        self._sentinel = _pidfd(self._process.pid)

    @property
    def pid(self) -> int:
        """Its process id, which is that of its process group too."""
        return self._process.pid

    def hear(self, waker: Waker, seconds: float | None = None) -> Heard:
        """Wait until there is a frame to receive (also the end of the channel), or the child has
        ended and all its frames are received, or the waker wakes, or `seconds` are over.
        """
        sources = [self.channel.fileno(), waker.fileno()]
        if self._sentinel is not None:
            sources.append(self._sentinel)
        else:
            seconds = LOOK_EVERY if seconds is None else min(seconds, LOOK_EVERY)
        ready = wait(sources, seconds)
        waker.woken()
        if self.channel.fileno() in ready:
            return "frame"
        ended = self.has_ended() if self._sentinel is None else self._sentinel in ready
        return "end" if ended else "nothing"

    def wait(self, seconds: float) -> bool:
        """Wait for its end, at most so long; whether it has ended."""
        if self._sentinel is not None:
            return bool(wait([self._sentinel], seconds))
        until = monotonic() + seconds
        while not (ended := self.has_ended()) and monotonic() < until:
            sleep(SHORT_LOOK)
        return ended

    def has_ended(self) -> bool:
        """Whether it has ended."""
        if not hasattr(os, "waitid"):
            return self._process.poll() is not None
        try:  # it stays unburied, so that its process id remains its own
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:  # somebody else in this process has buried it
            return True

    def kill(self) -> None:
        """End it and its process group now. Only before `bury`: later the id may be another's."""
        if self._process.returncode is not None:
            return
        for end in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                end(self.pid, signal.SIGKILL)

    def bury(self) -> int:
        """Wait for its end, let go of everything; the exit code, negative for a signal."""
        code = self._process.wait()
        self.channel.close()
        self._words.close()
        if self._sentinel is not None:
            os.close(self._sentinel)
            self._sentinel = None
        return code

    def words(self) -> str:
        """What it wrote to stderr before it was ready: the end of it."""
        with contextlib.suppress(OSError, ValueError):
            size = self._words.seek(0, os.SEEK_END)
            self._words.seek(max(size - _LONGEST_WORDS, 0))
            return self._words.read().decode(errors="replace").strip()
        return ""

    def forget_words(self) -> None:
        """It is ready, and writes to the worker's stderr from now on."""
        self._words.close()


def how_it_ended(code: int) -> str:
    """The words for an exit code, as they follow "the process"."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    guess = "; out of memory?" if -code == signal.SIGKILL else ""
    return f"was ended by {name}{guess}"


def _stderr() -> IO[bytes]:
    try:
        return os.fdopen(os.dup(2), "wb", buffering=0)
    except OSError:  # this process has none
        return open(os.devnull, "wb", buffering=0)  # noqa: PTH123 - the caller closes it


def _pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # not Linux, or an old one
        return None
