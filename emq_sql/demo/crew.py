"""The worker processes: started, killed, frozen, thawed, and ended by their own ids."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import IO

from emq_sql.demo.queries import Schemas
from emq_sql.demo.worker import CONCURRENCY, FILES, LEDGER

_PATIENCE = 8.0
_LAST_WORDS = 2000  # bytes


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """One worker process; `number` is its place, which its successor takes over."""

    number: int
    process: subprocess.Popen[bytes]
    log: IO[bytes]

    @property
    def pid(self) -> int:
        """Its process id, which the ledger shows in the holder's name, `host:pid:boot`."""
        return self.process.pid

    def __str__(self) -> str:
        return f"worker {self.number} (pid {self.pid})"


class Crew:
    """The workers of one run. Nobody else's process is ever touched."""

    def __init__(self, dsn: str, schemas: Schemas, concurrency: int) -> None:
        self._environment = os.environ | {
            "EMQ_DSN": dsn,
            LEDGER: schemas.ledger,
            FILES: schemas.files,
            CONCURRENCY: str(concurrency),
            "PYTHONUNBUFFERED": "1",
        }
        self._members: dict[int, Member] = {}
        self._ever: dict[str, Member] = {}

    @property
    def members(self) -> list[Member]:
        """The workers that are meant to be there."""
        return list(self._members.values())

    def start(self, number: int) -> Member:
        """Start the worker of this place; what it says goes to a file of its own."""
        # A file without a name: nothing of it is left even if we are killed.
        log = tempfile.TemporaryFile()  # noqa: SIM115  open as long as the worker is remembered
        process = subprocess.Popen(
            [sys.executable, "-m", "emq_sql.demo.worker"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=self._environment,
            # A group of its own, in our session: Ctrl-C reaches us alone, and if we are killed
            # while it is frozen the system wakes it and hangs it up.
            process_group=0,
        )
        member = Member(number, process, log)
        self._members[number] = self._ever[str(member.pid)] = member
        return member

    def named(self, worker: str) -> Member | None:
        """The member, dead or alive, that the ledger names `host:pid:boot`."""
        return self._ever.get(worker.rsplit(":", 2)[1])

    def has(self, member: Member) -> bool:
        """Whether it is meant to be there: neither killed nor ended."""
        return self._members.get(member.number) is member

    def kill(self, member: Member) -> None:
        """kill -9."""
        member.process.kill()
        member.process.wait()
        self._close(member)
        del self._members[member.number]

    def freeze(self, member: Member) -> None:
        """SIGSTOP: alive, and unable to do anything."""
        member.process.send_signal(signal.SIGSTOP)

    def thaw(self, member: Member) -> None:
        """SIGCONT."""
        member.process.send_signal(signal.SIGCONT)

    def fallen(self) -> list[Member]:
        """Members that have ended although nobody asked them to."""
        return [member for member in self.members if member.process.poll() is not None]

    def end(self) -> None:
        """SIGTERM for all; kill -9 for who is still there some seconds later. Never raises."""
        for member in self.members:
            self.thaw(member)
            member.process.terminate()
        deadline = time.monotonic() + _PATIENCE
        for member in self.members:
            with contextlib.suppress(subprocess.TimeoutExpired):
                member.process.wait(max(deadline - time.monotonic(), 0.01))
            member.process.kill()
            member.process.wait()
            self._close(member)
        self._members.clear()

    def last_words(self) -> str:
        """The end of what each worker said, for a run that failed."""
        parts = []
        for member in self._ever.values():
            end = os.fstat(member.log.fileno()).st_size
            said = os.pread(member.log.fileno(), _LAST_WORDS, max(end - _LAST_WORDS, 0))
            parts.append(f"--- {member}\n{said.decode(errors='replace').strip()}")
        return "\n".join(parts)

    def _close(self, member: Member) -> None:
        assert member.process.stdin is not None
        with contextlib.suppress(OSError):
            member.process.stdin.close()
