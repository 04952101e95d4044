"""Control loops are kept alive, and one that cannot be is no secret."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from queue import SimpleQueue

import pytest

from emq_sql.errors import EmqError, LoopFailed
from emq_sql.worker import loops
from emq_sql.worker.loops import Loop
from emq_sql.worker.pulse import Pulse

PATIENCE = 30.0


@dataclass
class Script:
    """A body that does the given things in turn, and then runs on until it is stopped."""

    acts: Iterator[Callable[[], None]]
    runs: SimpleQueue[int] = field(default_factory=SimpleQueue)
    stopped: threading.Event = field(default_factory=threading.Event)
    count: int = 0

    def run(self) -> None:
        self.count += 1
        self.runs.put(self.count)
        act = next(self.acts, None)
        if act is not None:
            act()
        else:
            self.stopped.wait(PATIENCE)

    def stop(self) -> None:
        self.stopped.set()

    def until_run(self, number: int) -> None:
        while self.runs.get(timeout=PATIENCE) < number:
            pass


def raises(error: BaseException) -> Callable[[], None]:
    def act() -> None:
        raise error

    return act


def kept(script: Script) -> tuple[Loop, Pulse, SimpleQueue[EmqError]]:
    lost: SimpleQueue[EmqError] = SimpleQueue()
    pulse = Pulse()
    return Loop("upkeep", script, pulse, lost.put), pulse, lost


@pytest.mark.parametrize("error", [RuntimeError("once"), SystemExit(3), MemoryError()])
def test_a_loop_that_raises_is_started_again(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    script = Script(iter([raises(error)] * 3))
    loop, pulse, lost = kept(script)
    loop.start()
    script.until_run(4)
    said = pulse.reading().loops["upkeep"]
    assert (said.state, said.restarts) == ("restarting", 3)
    loop.stop(PATIENCE)
    assert pulse.reading().loops["upkeep"].state == "ended"
    assert lost.empty()
    told = [record for record in caplog.records if record.exc_info]
    assert len(told) == 3, "each failure is in the log with its traceback"


def test_a_loop_that_ends_by_itself_is_started_again() -> None:
    script = Script(iter([lambda: None]))
    loop, _, lost = kept(script)
    loop.start()
    script.until_run(2)
    loop.stop(PATIENCE)
    assert lost.empty()


def test_a_loop_that_goes_on_failing_is_given_up_and_not_silently(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loops, "MOST_FAILURES", 4)
    script = Script(iter([raises(KeyError("always"))] * 100))
    loop, pulse, lost = kept(script)
    loop.start()
    error = lost.get(timeout=PATIENCE)
    assert isinstance(error, LoopFailed)
    assert "'upkeep'" in str(error) and "KeyError" in str(error)
    assert pulse.reading().loops["upkeep"].state == "failed"
    assert script.count == 4
    loop.stop(PATIENCE)


def test_what_failed_long_ago_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "MOST_FAILURES", 2)
    monkeypatch.setattr(loops, "STEADY", -1.0)  # each run counts as a long one
    script = Script(iter([raises(OSError("now and then"))] * 5))
    loop, _, lost = kept(script)
    loop.start()
    script.until_run(6)
    loop.stop(PATIENCE)
    assert lost.empty()


def test_a_loop_that_waits_to_be_started_again_can_be_stopped() -> None:
    script = Script(iter([raises(RuntimeError("again"))] * 100))
    loop, pulse, lost = kept(script)
    loop.start()
    script.until_run(2)
    loop.stop(PATIENCE)
    assert pulse.reading().loops["upkeep"].state == "ended"
    assert lost.empty()
