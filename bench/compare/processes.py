"""The processes of a peer: its producer, which answers requests, and its workers."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench.compare.catalogue import Failed, Peer, Setting
from bench.compare.environments import ROOT, Environment

CONTRACT = Path(__file__).parent / "contract"
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Given:
    """Which peer, how set, on which database, and where its processes may write."""

    peer: Peer
    setting: Setting
    environment: Environment
    dsn: str
    folder: Path
    deadline: float  # of time.monotonic(), for everything

    def left(self) -> float:
        return max(1.0, self.deadline - time.monotonic())

    def variables(self, **more: str) -> dict[str, str]:
        """What the processes of a peer find in their environment: little of ours."""
        path = [str(CONTRACT), str(self.peer.directory)] + [str(ROOT)] * self.peer.own
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        return {
            **kept,
            "PYTHONPATH": os.pathsep.join(path),
            "BENCH_DSN": self.dsn,
            "BENCH_SETTING": json.dumps(self.setting.given),
            **more,
        }


class Producer:
    """The adapter of a peer, started to serve."""

    def __init__(self, given: Given) -> None:
        self._given = given
        self._log = given.folder / "producer.log"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [given.environment.interpreter, CONTRACT / "speak.py", "serve"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, cwd=given.folder,
                env=given.variables(), start_new_session=True, bufsize=0,
            )  # fmt: skip

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Its answer; raises Failed when it says an error, dies, or is late."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        within = self._given.left()
        line = json.dumps({"do": do, "within": int(within) + 1, **request}) + "\n"
        try:
            stdin.write(line.encode())
        except BrokenPipeError as gone:
            raise Failed(f"its adapter ended: {last_of(self._log)}") from gone
        said = b""
        until = time.monotonic() + within
        while not said.endswith(b"\n"):
            if not select.select([stdout], [], [], max(0.0, until - time.monotonic()))[0]:
                raise Failed(f"{do} was not done in {within:.0f} s")
            some = os.read(stdout.fileno(), 1 << 16)
            if not some:
                raise Failed(f"its adapter ended during {do}: {last_of(self._log)}")
            said += some
        answer: dict[str, Any] = json.loads(said)
        if "error" in answer:
            raise Failed(f"{do}: {answer['error']}")
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


class Guarded:
    """A program under contract/guard.py: it ends with us, in time, or when it is asked to."""

    def __init__(
        self, command: list[str], variables: dict[str, str], folder: Path, log: Path, seconds: float
    ) -> None:
        self._log = log
        self._obeyed = False
        with log.open("ab") as file:
            self._guard = subprocess.Popen(
                [sys.executable, "-S", "-E", str(CONTRACT / "guard.py"), str(seconds), *command],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, text=True,
                cwd=folder, env=variables, start_new_session=True,
            )  # fmt: skip
        assert self._guard.stdout is not None
        self.pid = int(json.loads(self._guard.stdout.readline())["pid"])

    def check(self) -> None:
        """Raise Failed when it has ended."""
        if self._guard.poll() is not None:
            raise Failed(f"a process ended by itself: {last_of(self._log)}")

    def cpu(self) -> float:
        """Seconds of CPU of it and everything in its session, ended children included."""
        ticks = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                fields = stat.read_text().rsplit(")", 1)[1].split()
                if fields[3] == str(self.pid):
                    ticks += sum(map(int, fields[11:15]))
        return ticks / _TICKS

    def stop(self, grace: float = 15) -> bool:
        """Ask it to end, kill what is left after the grace; whether it ended by itself."""
        stdin, stdout = self._guard.stdin, self._guard.stdout
        assert stdin is not None and stdout is not None
        if stdin.closed:
            return self._obeyed
        try:
            with contextlib.suppress(BrokenPipeError):
                stdin.write("stop\n")
                stdin.flush()
            self._guard.wait(grace)
            self._obeyed = True
        except subprocess.TimeoutExpired:
            pass
        with contextlib.suppress(BrokenPipeError):
            stdin.close()
        self._guard.wait(30)
        stdout.close()
        return self._obeyed


def worker(given: Given, number: int, tally: Path, gate: Path | None) -> Guarded:
    """One worker process of the peer; with a gate its first job waits until that is there."""
    return Guarded(
        [str(given.environment.interpreter), str(CONTRACT / "speak.py"), "work"],
        given.variables(BENCH_TALLY=str(tally), **({"BENCH_GATE": str(gate)} if gate else {})),
        given.folder,
        given.folder / f"worker-{number}.log",
        given.left() + 30,
    )


def last_of(log: Path) -> str:
    """The end of what a process wrote, on one line."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return " | ".join(lines[-3:])[-400:] or "it wrote nothing"
