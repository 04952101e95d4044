"""The lab's worker processes: started, waited for, woken, and ended by their own ids."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Literal

from emq_sql.lab.grid import Cell
from emq_sql.lab.points import FREEZES
from emq_sql.lab.worker import CONCURRENCY, QUEUES, SCHEMA

State = Literal["works", "killed", "frozen", "ended"]

_PATIENCE = 8.0
_LAST_WORDS = 2000  # bytes
_CHANGED = os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """One worker process; `role` says what it is there for."""

    role: str
    process: subprocess.Popen[bytes]
    log: IO[bytes]

    @property
    def state(self) -> State:
        """What has become of it."""
        if self.process.returncode is None:
            changed = os.waitid(os.P_PID, self.process.pid, _CHANGED)
            if changed is not None and changed.si_code == os.CLD_STOPPED:
                return "frozen"
        code = self.process.poll()
        return "works" if code is None else "killed" if code == -signal.SIGKILL else "ended"

    def send(self, number: int) -> None:
        """A signal, unless it has ended."""
        self.process.send_signal(number)

    def last_words(self) -> str:
        """The end of what it said."""
        end = os.fstat(self.log.fileno()).st_size
        said = os.pread(self.log.fileno(), _LAST_WORDS, max(end - _LAST_WORDS, 0))
        return f"--- {self.role} (pid {self.process.pid})\n{said.decode(errors='replace').strip()}"


class Crew:
    """The workers of one run. Nobody else's process is ever touched."""

    def __init__(self, dsn: str, schema: str) -> None:
        self._environment = os.environ | {"EMQ_DSN": dsn, SCHEMA: schema}
        for name in ("EMQ_SQL_CRASH_AT", FREEZES):
            self._environment.pop(name, None)
        self._members: list[Member] = []

    def first(self, cell: Cell) -> Member:
        """The worker that is killed at the point of this cell, or freezes itself."""
        crash_at = cell.point.crash_at
        what = {"EMQ_SQL_CRASH_AT": crash_at} if crash_at else {FREEZES: "1"}
        return self._start(f"first worker of {cell}", [cell], 1, what)

    def second(self, cells: Sequence[Cell]) -> Member:
        """The worker to which nothing happens, for all of these cells."""
        return self._start("second worker", cells, 4, {})

    def end(self) -> None:
        """SIGTERM for all; kill -9 for who is still there some seconds later. Never raises."""
        for member in self._members:
            member.send(signal.SIGTERM)
            member.send(signal.SIGCONT)
        deadline = time.monotonic() + _PATIENCE
        for member in self._members:
            with contextlib.suppress(subprocess.TimeoutExpired):
                member.process.wait(max(deadline - time.monotonic(), 0.01))
            member.process.kill()
            member.process.wait()
            assert member.process.stdin is not None
            with contextlib.suppress(OSError):
                member.process.stdin.close()

    def last_words(self) -> str:
        """The end of what each worker said that is still there, for a run that failed."""
        there = [member for member in self._members if member.state != "killed"]
        return "\n".join(member.last_words() for member in there)

    def _start(
        self, role: str, cells: Sequence[Cell], concurrency: int, what: dict[str, str]
    ) -> Member:
        # A file without a name: nothing of it is left even if we are killed.
        log = tempfile.TemporaryFile()  # noqa: SIM115  open as long as the worker is remembered
        queues = ",".join(cell.queue for cell in cells)
        process = subprocess.Popen(
            [sys.executable, "-m", "emq_sql.lab.worker"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=self._environment | {QUEUES: queues, CONCURRENCY: str(concurrency)} | what,
            # A group of its own, in our session: Ctrl-C reaches us alone, and if we are killed
            # while it is frozen the system wakes it and hangs it up.
            process_group=0,
        )
        member = Member(role, process, log)
        self._members.append(member)
        return member
