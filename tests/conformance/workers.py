"""A worker under test as a real process, and the programs that are its tasks.

Whatever worker it is, it is started with these in its environment: EMQ_DSN, EMQ_QUEUE, EMQ_TASKS (a
directory: a job's task is a program in it, gets the payload on standard input and the job's id in
EMQ_JOB_ID, and succeeds with exit code 0), EMQ_GRACE (seconds after SIGTERM) and EMQ_ENVIRONMENT.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.protocol.calls import Ledger

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "docs" / "reference" / "worker.sh"
SHORT = ROOT / "docs" / "reference" / "worker-in-a-dozen-lines.sh"
YOURS = os.environ.get("EMQ_SQL_CONFORMANCE_WORKER")
PATIENCE = 60.0  # seconds

Command = Callable[[Mapping[str, str]], list[str]]

COMMANDS: dict[str, Command] = {
    "bash": lambda env: ["bash", str(SCRIPT), env["EMQ_QUEUE"]],
    "short": lambda _: ["bash", str(SHORT)],
    "python": lambda env: [
        sys.executable, "-m", "emq_sql", "worker", "--app", "tests.conformance.an_app:emq",
        "-q", env["EMQ_QUEUE"], "--concurrency", "1", "--grace", env["EMQ_GRACE"],
        "--poll", env.get("EMQ_POLL", "1"),
    ],
    "yours": lambda _: shlex.split(YOURS or ""),
}  # fmt: skip

# `note` keeps the payload as it came, `hold` runs until it is let go.
PROGRAMS = {
    "note": "cat > '{place}'/note-$EMQ_JOB_ID",
    "fail": "cat > /dev/null; echo 'it says: boom' >&2; exit 3",
    "hold": "cat > /dev/null; echo $$ >> '{place}'/held; read -r _ < '{place}'/go",
}


@dataclass
class Worker:
    """One process; what it says is in a file."""

    process: subprocess.Popen[bytes]
    log: Path

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def urged(self) -> bool:
        """One more SIGTERM, unless it has ended."""
        if self.process.poll() is None:
            self.send(signal.SIGTERM)
        return self.process.poll() is not None

    def ended(self) -> int:
        """Wait for its end; its exit code, negative for the signal that ended it."""
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()


@dataclass
class Shop:
    """A queue, the programs that its jobs run, and the workers that a test starts for it."""

    dsn: str
    place: Path
    kind: str
    ledger: Ledger
    queue: str = "q"
    workers: list[Worker] = field(default_factory=list)
    _go: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        (self.place / "tasks").mkdir()
        os.mkfifo(self.place / "go")
        # Kept open both ways: what is written waits for its reader, and no reader meets an end.
        self._go = os.open(self.place / "go", os.O_RDWR)
        for name, body in PROGRAMS.items():
            self.program(name, body.format(place=self.place))

    def program(self, name: str, body: str) -> None:
        """One more task."""
        path = self.place / "tasks" / name
        path.write_text(f"#!/usr/bin/env bash\n{body}\n")
        path.chmod(0o755)

    def start(self, **environ: str) -> Worker:
        """Start a worker; it is ended with the test if it has not ended itself."""
        env = os.environ | {
            "EMQ_DSN": self.dsn, "EMQ_QUEUE": self.queue, "EMQ_TASKS": str(self.place / "tasks"),
            "EMQ_GRACE": "30", "EMQ_ENVIRONMENT": "",
        } | environ  # fmt: skip
        log = self.place / f"worker{len(self.workers)}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                COMMANDS[self.kind](env), cwd=ROOT, env=env, stdin=subprocess.DEVNULL,
                stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        self.workers.append(Worker(process, log))
        return self.workers[-1]

    def close(self) -> None:
        for worker in self.workers:
            worker.close()
        self.let_go()  # what the workers left behind
        os.close(self._go)

    # What the test does and sees

    def enqueue(self, task: str, payload: Mapping[str, Any] | None = None, **given: Any) -> UUID:
        return self.ledger.add_one(
            self.queue, task=task, payload=json.dumps(payload or {}), **given
        )

    def lease(self, seconds: float) -> None:
        """The lease of the queue's jobs from now on."""
        self.ledger.rows("select emq.configure(%s, make_interval(secs => %s))", self.queue, seconds)

    def until_held(self, times: int = 1) -> int:
        """Until so many runs of `hold` have begun; the process of the last one."""
        held = self.place / "held"
        self.until(lambda: held.exists() and len(held.read_text().split()) >= times)
        return int(held.read_text().split()[-1])

    def let_go(self) -> None:
        """The runs of `hold` end, those that begin now too."""
        os.write(self._go, b"go\n" * 10)

    def noted(self, id: UUID) -> Any:
        """The payload that the program `note` was given."""
        return json.loads((self.place / f"note-{id}").read_bytes())

    def until_at(self, id: UUID, place: str) -> None:
        self.until(lambda: self.ledger.place(id) == place)

    def until(self, true: Callable[[], bool]) -> None:
        """Until it is so; a worker may wait half a minute for an answer that does not come."""
        end = time.monotonic() + PATIENCE
        while not true():
            if time.monotonic() > end:
                said = [f"--- {w.log.name}\n{w.log.read_text()}" for w in self.workers]
                raise AssertionError("\n".join(["what the test waits for never came true", *said]))
            time.sleep(0.01)
