"""What each handler of each peer calls: `ran(n)`, which notes in a file that job n runs now.

Runs in the interpreter of a peer, so it needs nothing but the standard library. The file belongs to
one worker (its forked children share it); the harness maps it too and reads it without asking
anybody, so that watching a worker costs the worker nothing. Words of 8 bytes: how many ran, how
many ran again, and from HEAD on the instant (CLOCK_MONOTONIC, ns) at which job n began last.
"""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable
from pathlib import Path

RAN, AGAIN, HEAD = 0, 1, 8

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
    ran = _noting(opened(Path(os.environ["BENCH_TALLY"])))
    ran(n)


def _noting(words: memoryview) -> Callable[[int], None]:
    def note(n: int) -> None:
        if words[HEAD + n]:
            words[AGAIN] += 1
        words[HEAD + n] = _now()
        words[RAN] += 1

    return note


ran: Callable[[int], None] = _first


def prepare() -> None:
    """Open the file now, so that children that are forked for each job need not."""
    global ran  # noqa: PLW0603
    if "BENCH_TALLY" in os.environ:
        ran = _noting(opened(Path(os.environ["BENCH_TALLY"])))
