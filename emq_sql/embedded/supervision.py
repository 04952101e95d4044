"""The owner's end of the pipes to the supervisor, which keeps one server while the owner lives."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path
from typing import IO

from emq_sql.embedded import pidfile
from emq_sql.embedded.account import environment
from emq_sql.errors import ServerDidNotStart

# Run from its file by the interpreter that runs us: nothing of it needs to be importable.
_PROGRAM = Path(__file__).with_name("supervisor.py")


class Supervision:
    """Our end of the two pipes to the supervisor of one server."""

    def __init__(self, order: dict[str, object]) -> None:
        self._owner = os.getpid()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_PROGRAM), json.dumps(order)],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # Not of our session: Ctrl-C and a closed terminal reach us, and the supervisor by us.
            start_new_session=True,
            cwd="/",
            env=environment(),
        )
        self.place = self.data = Path()
        self._server: int | None = None
        _LIVE.add(self)

    def hear(self) -> int:
        """Wait until the server is ready; its pid."""
        noise = b""
        while line := _pipe(self._process.stdout).readline():
            try:
                fact = json.loads(line)
            except ValueError:
                noise += line
                continue
            if "failed" in fact:
                log = f" The end of its log:\n{fact['log']}" if fact["log"] else ""
                raise ServerDidNotStart(f"{fact['failed']}.{log}")
            if "place" in fact:
                self.place, self.data = Path(fact["place"]), Path(fact["data"])
            if "ready" in fact:
                self._server = int(fact["ready"])
                return self._server
        raise ServerDidNotStart(
            f"The supervisor of the server ended with code {self._process.wait()}. "
            f"{noise.decode(errors='replace')}"
        )

    def ask(self, command: str) -> int:
        try:
            _pipe(self._process.stdin).write(f"{command}\n".encode())
        except (OSError, ValueError) as gone:
            raise ServerDidNotStart("This server was stopped, or is another process's.") from gone
        return self.hear()

    def shut(self) -> None:
        if os.getpid() != self._owner:
            return
        _pipe(self._process.stdin).close()
        if self._process.wait() < 0:
            self._clean_up_after_a_killed_supervisor()
        _pipe(self._process.stdout).close()

    def let_go(self) -> None:
        """In a forked child: hold nothing that would keep the server alive after its owner."""
        for pipe in (self._process.stdin, self._process.stdout):
            _pipe(pipe).close()

    def _clean_up_after_a_killed_supervisor(self) -> None:
        deadline = time.monotonic() + 30
        if self._server is not None and pidfile.read(self.data).pid == self._server:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._server, signal.SIGINT)
            while pidfile.is_running(self.data) and time.monotonic() < deadline:
                time.sleep(0.02)
        if self.place != Path():
            shutil.rmtree(self.place, ignore_errors=True)


def _pipe(given: IO[bytes] | None) -> IO[bytes]:
    assert given is not None
    return given


_LIVE: weakref.WeakSet[Supervision] = weakref.WeakSet()


def _let_go_in_a_forked_child() -> None:
    for supervision in list(_LIVE):
        supervision.let_go()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_let_go_in_a_forked_child)
