"""The lab's worker processes: started, waited for, woken, and ended by their own ids."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from emq_sql.lab.forking import State
from emq_sql.lab.grid import Cell
from emq_sql.lab.points import FREEZES
from emq_sql.lab.worker import Order

_PATIENCE = 8.0
_LOOK_EVERY = 0.02
_LAST_WORDS = 4000  # bytes


class WorkersFailed(Exception):
    """A worker ended that should have been killed or frozen, or that nobody had asked to end."""


@dataclass(frozen=True, slots=True)
class Member:
    """One worker process; `role` says what it is there for."""

    role: str
    pid: int

    def __str__(self) -> str:
        return f"{self.role} (pid {self.pid})"


class Crew:
    """The workers of one run. Nobody else's process is ever touched."""

    def __init__(self, dsn: str, schema: str) -> None:
        self._schema = schema
        self._members: list[Member] = []
        environment = os.environ | {"EMQ_DSN": dsn}
        for name in ("EMQ_SQL_CRASH_AT", FREEZES):
            environment.pop(name, None)
        # A file without a name: nothing of it is left even if we are killed.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  open for as long as the crew is there
        self._host = subprocess.Popen(
            [sys.executable, "-m", "emq_sql.lab.forking"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True,
            env=environment, process_group=0,  # Ctrl-C reaches us alone
        )  # fmt: skip

    def first(self, cell: Cell) -> Member:
        """The worker that is killed at the point of this cell, or freezes itself."""
        at = cell.point.crash_at
        order = Order(self._schema, [cell.queue], crash_at=at, freezes=at is None)
        return self._start(f"first worker of {cell}", order)

    def second(self, cells: Sequence[Cell]) -> Member:
        """The worker to which nothing happens, for all of these cells."""
        order = Order(self._schema, [cell.queue for cell in cells], concurrency=4)
        return self._start("second worker", order)

    def state(self, member: Member) -> State:
        """What has become of it."""
        state: State = self._ask("state", member.pid)
        return state

    def wake(self, member: Member) -> None:
        """SIGCONT."""
        self._ask("send", member.pid, signal.SIGCONT)

    def end(self) -> None:
        """SIGTERM for all; kill -9 for who is still there some seconds later."""
        try:
            for member in self._members:
                self._ask("send", member.pid, signal.SIGTERM)
                self.wake(member)
            deadline = time.monotonic() + _PATIENCE
            while time.monotonic() < deadline and any(map(self._is_there, self._members)):
                time.sleep(_LOOK_EVERY)
        except WorkersFailed:
            pass  # their host is gone, and each of them with it
        finally:
            self._host.communicate()

    def last_words(self) -> str:
        """The end of what the workers said, each line with the pid of its own."""
        end = os.fstat(self._log.fileno()).st_size
        said = os.pread(self._log.fileno(), _LAST_WORDS, max(end - _LAST_WORDS, 0))
        return said.decode(errors="replace").strip()

    def _is_there(self, member: Member) -> bool:
        return self.state(member) in {"works", "frozen"}

    def _start(self, role: str, order: Order) -> Member:
        member = Member(role, self._ask("start", asdict(order)))
        self._members.append(member)
        return member

    def _ask(self, verb: str, *given: Any) -> Any:
        assert self._host.stdin is not None
        assert self._host.stdout is not None
        try:
            self._host.stdin.write(json.dumps([verb, *given]) + "\n")
            self._host.stdin.flush()
            return json.loads(self._host.stdout.readline())
        except (OSError, ValueError) as error:
            raise WorkersFailed("the process that forks the workers has ended") from error
