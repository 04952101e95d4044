"""Keeps one PostgreSQL server for exactly as long as the process that started it lives.

Run as a file, never imported, with the order as one JSON argument. Standard input is a pipe whose
other end only the owner holds: its end of file means that the owner is done or dead (kill -9
included), and then the server is stopped by a fast shutdown and everything temporary is removed.
Commands come in by the same pipe, a line each: "restart fast", "restart immediate". Answers go to
standard output, one JSON object a line. Standard library only; it stays what its owner is (root,
say, because the interpreter may be unreadable to others), and drops rights for the server alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

TAIL = 4096


class OwnerGone(Exception):
    """The owner closed its end of the pipe, or ended."""


class Failed(Exception):
    """initdb or postgres failed."""


def report(**fact: object) -> None:
    with contextlib.suppress(OSError):
        os.write(1, (json.dumps(fact) + "\n").encode())


class Supervisor:
    def __init__(self, order: dict[str, Any]) -> None:
        self.order = order
        self.told_to_end = False
        self.wake = self.listen_to_signals()
        self.running: subprocess.Popen[bytes] | None = None
        self.half_made: Path | None = None
        self.place = Path(tempfile.mkdtemp(prefix="emq-", dir=order["within"]))
        self.data = Path(order["data"] or self.place / "data")
        # Opened before the directory is given away, so that no link can be put in its place.
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND
        self.log = os.open(self.place / "log", flags, 0o600)
        self.give(self.place)
        report(place=str(self.place), data=str(self.data))

    def listen_to_signals(self) -> int:
        read, write = os.pipe()
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for ending in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(ending, self.end)
        return read

    def end(self, *_: object) -> None:
        self.told_to_end = True

    def give(self, directory: Path) -> None:
        if self.order["uid"] is not None:
            os.chown(directory, self.order["uid"], self.order["gid"])

    def spawn(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        as_whom: dict[str, Any] = {}
        if self.order["uid"] is not None:
            as_whom = {"user": self.order["uid"], "group": self.order["gid"], "extra_groups": []}
        self.running = subprocess.Popen(
            [str(Path(self.order["bindir"], program)), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            cwd="/",
            start_new_session=True,
            **as_whom,
        )
        return self.running

    def hear(self, seconds: float | None) -> bytes:
        """What the owner says within that time; nothing when a child ended first."""
        ready, _, _ = select.select([0, self.wake], [], [], seconds)
        if self.wake in ready:
            os.read(self.wake, 512)
        said = os.read(0, 512) if 0 in ready else None
        if self.told_to_end or said == b"":
            raise OwnerGone
        return said or b""

    def initdb(self) -> None:
        if (self.data / "PG_VERSION").exists():
            return
        if self.data.exists() and any(self.data.iterdir()):
            raise Failed(f"{self.data} is neither empty nor a PostgreSQL data directory")
        # Made beside its place and moved there, so that a half-made one is never taken for good.
        self.half_made = Path(tempfile.mkdtemp(prefix=f".{self.data.name}.", dir=self.data.parent))
        self.give(self.half_made)
        child = self.spawn("initdb", "-D", str(self.half_made), *self.order["initdb"])
        while child.poll() is None:
            self.hear(None)
        if child.returncode:
            raise Failed(f"initdb ended with code {child.returncode}")
        self.half_made.rename(self.data)
        self.half_made = None

    def launch(self) -> None:
        sockets = f'unix_socket_directories="{self.place}"'  # a list: quoted
        settings = [*self.order["settings"], sockets]
        flags = [flag for setting in settings for flag in ("-c", setting)]
        deadline = time.monotonic() + self.order["timeout"]
        while True:
            since = os.fstat(self.log).st_size
            child = self.spawn("postgres", "-D", str(self.data), *flags)
            while child.poll() is None:
                if self.is_ready(child.pid):
                    report(ready=child.pid)
                    return
                if time.monotonic() > deadline:
                    raise Failed(f"postgres was not ready within {self.order['timeout']} seconds")
                self.hear(0.02)
            said = os.pread(self.log, 65536, since)
            # After kill -9 of the postmaster its last backends need a moment to notice and leave.
            if b"shared memory block" not in said or time.monotonic() > deadline:
                raise Failed(f"postgres ended with code {child.returncode}")
            self.hear(0.1)

    def is_ready(self, pid: int) -> bool:
        with contextlib.suppress(OSError):
            lines = (self.data / "postmaster.pid").read_text().splitlines()
            return len(lines) > 7 and lines[0] == str(pid) and lines[7].strip() == "ready"
        return False

    def halt(self, first: signal.Signals) -> None:
        if self.running is None:
            return
        for how, patience in ((first, 30), (signal.SIGQUIT, 5), (signal.SIGKILL, 5)):
            if self.running.poll() is not None:
                return
            self.running.send_signal(how)
            self.running.send_signal(signal.SIGCONT)  # a frozen server hears nothing else
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.running.wait(patience)

    def serve(self) -> None:
        self.initdb()
        self.launch()
        while True:
            for line in self.hear(None).splitlines():
                self.halt(signal.SIGQUIT if line == b"restart immediate" else signal.SIGINT)
                self.launch()

    def close(self) -> None:
        if self.half_made is not None:
            if self.running is not None and self.running.poll() is None:
                os.killpg(self.running.pid, signal.SIGKILL)  # initdb has children of its own
                self.running.wait()
            shutil.rmtree(self.half_made, ignore_errors=True)
        self.halt(signal.SIGINT)
        shutil.rmtree(self.place, ignore_errors=True)

    def last_words(self) -> str:
        size = os.fstat(self.log).st_size
        return os.pread(self.log, TAIL, max(0, size - TAIL)).decode(errors="replace")


def main() -> None:
    try:
        supervisor = Supervisor(json.loads(sys.argv[1]))
    except OSError as why:
        report(failed=str(why), log="")
        sys.exit(1)
    failure = None
    try:
        supervisor.serve()
    except OwnerGone:
        pass
    except Failed as why:
        failure = str(why)
    except Exception:  # noqa: BLE001  the owner is told whatever it is
        failure = traceback.format_exc()
    log = supervisor.last_words()
    supervisor.close()
    if failure is not None:
        report(failed=failure, log=log)
        sys.exit(1)


if __name__ == "__main__":
    main()
