"""A wrong count is a failure and never a rate: a queue in files that loses, repeats or lies."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.compare import workloads
from bench.compare.catalogue import Failed, Peer, Setting
from bench.compare.environments import Environment
from bench.compare.processes import Given
from bench.compare.servers import Reading
from bench.compare.workloads import Sizes

ADAPTER = """
import signal, sys
from pathlib import Path
import tally, wire

FOLDER, HOW = Path(wire.DSN), wire.SETTING["how"]

def lines(name):
    return (FOLDER / name).read_text().split() if (FOLDER / name).exists() else []

class Peer(wire.Adapter):
    def counts(self):
        left = len(lines("added")) - len(lines("done"))
        done = len(lines("done")) - (1 if HOW == "forgets" else 0)
        return {"left": left, "done": done}
    def bulk(self, numbers):
        with (FOLDER / "added").open("a") as file:
            file.writelines(f"{n}\\n" for n in numbers)
    def single(self, n):
        self.bulk(range(n, n + (0 if HOW == "drops" else 1)))
    def work(self):
        if HOW == "dies": sys.exit("it would not start")
        numbers = lines("added")
        for n in numbers[1:] if HOW == "loses" else numbers: tally.ran(int(n))
        if HOW == "repeats": tally.ran(7)
        with (FOLDER / "done").open("a") as file:
            file.writelines(f"{n}\\n" for n in numbers[1:] if HOW != "leaves" or n != "9")
            file.write(f"{numbers[0]}\\n")
        signal.sigwait([signal.SIGTERM])
"""


class Files:
    """Where that queue lives: a directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def fresh(self, name: str) -> Iterator[str]:
        yield str(self.folder)

    def settle(self) -> None: ...

    def read(self, dsn: str) -> Reading:
        return Reading(0.0, None, None)


@pytest.fixture
def given(tmp_path: Path, request: pytest.FixtureRequest) -> Given:
    (tmp_path / "adapter.py").write_text(ADAPTER)
    (tmp_path / "queue").mkdir()
    setting = Setting("s", "as it comes", True, True, {"how": request.param})
    peer = Peer("files", "files", "files", "3.11", True, True, 50, None, (setting,), tmp_path)
    environment = Environment(Path(sys.executable), "", {})
    deadline = time.monotonic() + (10 if request.param in ("loses", "leaves", "forgets") else 60)
    return Given(peer, setting, environment, str(tmp_path / "queue"), tmp_path, deadline)


@pytest.mark.parametrize("given", ["honestly"], indirect=True)
def test_what_ran_once_and_is_over_is_a_rate(given: Given) -> None:
    place = Files(given.folder)
    figures = workloads.drain(given, place, Sizes(), workers=1)
    assert figures["jobs"] == 50
    assert figures["per_second"] > 0
    assert figures["stopped_when_asked"]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("loses", "49 of 50 jobs ran"),
        ("repeats", "1 ran again"),
        ("leaves", "1 are left"),
        ("forgets", "49 are done"),
        ("dies", "ended by itself: it would not start"),
    ],
    indirect=["given"],
)
def test_what_did_not_is_a_failure_that_says_why(given: Given, why: str) -> None:
    place = Files(given.folder)
    with pytest.raises(Failed, match=why):
        workloads.drain(given, place, Sizes(), workers=1)


@pytest.mark.parametrize("given", ["drops"], indirect=True)
def test_what_was_not_added_is_not_a_rate_of_enqueueing(given: Given) -> None:
    place = Files(given.folder)
    with pytest.raises(Failed, match=r"0 jobs are left, not"):
        workloads.enqueue(given, place, Sizes(enqueue_seconds=0.2))
