"""What each handler of each peer calls: `ran(n)`, which notes in a file that job n runs now.

Runs in the interpreter of a peer, so it needs nothing but the standard library. The file belongs to
one worker (its forked children share it); the harness maps it too and reads it without asking
anybody, so that watching a worker costs the worker nothing. Words of 8 bytes: how many ran, how
many ran again, whether a first one is here, and from HEAD on the instant (CLOCK_MONOTONIC, ns) at
which job n began last.

With BENCH_GATE the first job of a worker waits until that file is there: so that two workers that
start at different speeds are measured from one instant on.
"""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable
from pathlib import Path

RAN, AGAIN, ARRIVED, HEAD = 0, 1, 2, 8

_now = time.monotonic_ns


def opened(path: Path) -> memoryview:
    """The words of a tally, shared with everyone who has it open."""
    with path.open("r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), 0)).cast("Q")


def made(path: Path, jobs: int) -> memoryview:
    """A new tally for jobs 0 to `jobs` - 1; a sparse file."""
    with path.open("wb") as file:
        file.truncate(8 * (HEAD + jobs))
    return opened(path)


def _first(n: int) -> None:
    global ran  # noqa: PLW0603  the second call finds the file open, without asking
    words = opened(Path(os.environ["BENCH_TALLY"]))
    words[ARRIVED] = 1
    if gate := os.environ.get("BENCH_GATE"):
        while not Path(gate).exists():  # whoever started us opens it, or ends us
            time.sleep(0.001)
    ran = _noting(words)
    ran(n)


def _noting(words: memoryview) -> Callable[[int], None]:
    def note(n: int) -> None:
        if words[HEAD + n]:
            words[AGAIN] += 1
        words[HEAD + n] = _now()
        words[RAN] += 1

    return note


ran: Callable[[int], None] = _first
