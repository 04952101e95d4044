"""What runs in the interpreters of peers: the tally, the lines of JSON, and the guard."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from bench.compare.contract import tally
from bench.compare.processes import CONTRACT

ADAPTER = """
import os, wire
class Peer(wire.Adapter):
    opened = closed = 0
    def open(self): self.opened += 1; print("a peer that prints")
    def close(self): self.closed += 1
    def counts(self): return {"left": self.opened - self.closed, "done": self.closed}
    def single(self, n):
        if n == 3: raise ValueError("not three")
    def bulk(self, numbers): list(numbers)
    def work(self):
        import tally
        for n in (0, 1, 1): tally.ran(n)
"""
AWAITED = ADAPTER.replace("    def ", "    async def ").replace("def work", "def work")


def speaking(folder: Path, source: str, *requests: dict[str, Any]) -> list[dict[str, Any]]:
    (folder / "adapter.py").write_text(textwrap.dedent(source))
    done = subprocess.run(
        [sys.executable, CONTRACT / "speak.py", "serve"],
        input="".join(json.dumps(request) + "\n" for request in requests),
        env={"PYTHONPATH": f"{CONTRACT}{os.pathsep}{folder}"},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("source", [ADAPTER, AWAITED], ids=["functions", "coroutines"])
def test_an_adapter_answers_each_request_with_one_line(tmp_path: Path, source: str) -> None:
    single = {"do": "single", "first": 10, "limit": 5, "seconds": 60}
    bulk = {"do": "bulk", "first": 0, "limit": 2500, "seconds": 60, "batch": 1000}
    paced = {"do": "paced", "first": 20, "count": 3, "gap": [0.0, 0.001], "seed": 1}
    answers = speaking(tmp_path, source, single, bulk, paced, {"do": "counts"})
    assert [answer.get("count") for answer in answers] == [5, 2500, None, None]
    assert len(answers[2]["sent"]) == len(answers[2]["committed"]) == 3
    assert answers[3] == {"left": 0, "done": 3}  # what was opened was closed


@pytest.mark.parametrize("source", [ADAPTER, AWAITED], ids=["functions", "coroutines"])
def test_an_adapter_that_fails_says_why_closes_and_goes_on(tmp_path: Path, source: str) -> None:
    failing = {"do": "single", "first": 3, "limit": 1, "seconds": 60}
    answers = speaking(tmp_path, source, failing, {"do": "counts"})
    assert answers == [{"error": "ValueError: not three"}, {"left": 0, "done": 1}]


def test_an_adapter_that_hangs_ends_by_itself(tmp_path: Path) -> None:
    (tmp_path / "adapter.py").write_text(
        "import time, wire\nclass Peer(wire.Adapter):\n    def install(self): time.sleep(600)\n"
    )
    process = subprocess.Popen(
        [sys.executable, CONTRACT / "speak.py", "serve"], stdin=subprocess.PIPE,
        env={"PYTHONPATH": f"{CONTRACT}{os.pathsep}{tmp_path}"},
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(b'{"do": "install", "within": 1}\n')
    process.stdin.flush()
    assert process.wait(60) < 0
    process.stdin.close()


def test_a_worker_notes_what_ran_and_what_ran_again(tmp_path: Path) -> None:
    (tmp_path / "adapter.py").write_text(ADAPTER)
    words = tally.made(tmp_path / "tally", 4)
    subprocess.run(
        [sys.executable, CONTRACT / "speak.py", "work"], timeout=60, check=True,
        env={
            "PYTHONPATH": f"{CONTRACT}{os.pathsep}{tmp_path}",
            "BENCH_TALLY": str(tmp_path / "tally"),
        },
    )  # fmt: skip
    assert (words[tally.RAN], words[tally.AGAIN], words[tally.ARRIVED]) == (3, 1, 1)
    assert [bool(at) for at in words[tally.HEAD :]] == [True, True, False, False]


def test_the_first_job_of_a_worker_waits_at_the_gate(tmp_path: Path) -> None:
    (tmp_path / "adapter.py").write_text(ADAPTER)
    words = tally.made(tmp_path / "tally", 4)
    process = subprocess.Popen(
        [sys.executable, CONTRACT / "speak.py", "work"],
        env={
            "PYTHONPATH": f"{CONTRACT}{os.pathsep}{tmp_path}",
            "BENCH_TALLY": str(tmp_path / "tally"), "BENCH_GATE": str(tmp_path / "gate"),
        },
    )  # fmt: skip
    _until(lambda: bool(words[tally.ARRIVED]))
    assert words[tally.RAN] == 0
    opened = time.monotonic_ns()
    (tmp_path / "gate").touch()
    assert process.wait(60) == 0
    assert words[tally.HEAD] >= opened


def guarded(seconds: float, source: str) -> tuple[subprocess.Popen[str], int]:
    guard = subprocess.Popen(
        [sys.executable, CONTRACT / "guard.py", str(seconds), sys.executable, "-c", source],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert guard.stdout is not None
    return guard, int(json.loads(guard.stdout.readline())["pid"])


STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], process_group=0)
open(sys.argv[1] if sys.argv[1:] else os.environ["CHILD"], "w").write(str(child.pid))
time.sleep(600)
"""


@pytest.mark.parametrize("ends", ["its starter", "its time"])
def test_a_guarded_program_and_its_children_end_with(
    ends: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHILD", str(tmp_path / "child"))
    guard, pid = guarded(600 if ends == "its starter" else 3, STUBBORN)
    _until(lambda: (tmp_path / "child").exists() and bool((tmp_path / "child").read_text()))
    child = int((tmp_path / "child").read_text())
    assert guard.stdin is not None
    if ends == "its starter":
        guard.stdin.close()
    assert guard.wait(60) == 0
    _until(lambda: not _alive(pid) and not _alive(child))


def test_a_guarded_program_is_asked_to_stop_by_a_line() -> None:
    guard, _ = guarded(600, "import signal; signal.sigwait([signal.SIGTERM])")
    timer = threading.Timer(60, guard.kill)
    timer.start()
    while guard.poll() is None:  # it may not wait for the signal yet
        assert guard.stdin is not None
        try:
            guard.stdin.write("stop\n")
            guard.stdin.flush()
        except BrokenPipeError:
            break
        time.sleep(0.05)
    assert guard.wait(60) == 0
    timer.cancel()


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def _until(what: Any) -> None:
    until = time.monotonic() + 60
    while not what():
        assert time.monotonic() < until
        time.sleep(0.01)
