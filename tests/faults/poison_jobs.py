"""Jobs that end their process as no handler can catch, or go wrong in other ways, and innocent ones
that run beside them.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import time
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn

import psycopg

from emq_sql import Permanent
from emq_sql.worker.context import Job
from emq_sql.worker.handler import Handler

HOARD = 64 * 1024 * 1024


def _write(query: bytes, *params: Any) -> None:
    with psycopg.connect(os.environ["EMQ_DSN"]) as connection:
        connection.execute(query, params)


def _starts(job: Job) -> None:
    insert = b"insert into started (job, attempts, pid) values (%s, %s, %s)"
    _write(insert, job.id, job.attempts, os.getpid())


def innocent(job: Job, seconds: float = 0.01) -> str:
    """Does its work, and harms nobody."""
    time.sleep(seconds)
    insert = b"insert into effect (job, fence, pid) values (%s, %s, %s)"
    _write(insert, job.id, job.fence, os.getpid())
    return "done"


def poison(
    job: Job, how: str, times: int = 1_000_000, after: float = 0.0, key: str | None = None,
    rest: float = 0.0,
) -> dict[str, Any]:  # fmt: skip
    """Ends its process in so many of its runs, then tells what it knows of them, after a rest. With
    a key it waits until the test has written that into `go`.
    """
    _starts(job)
    if job.stalled < times:
        time.sleep(after)
        _wait_for(key)
        _end(how)
    time.sleep(rest)
    return {
        "queue": job.queue, "stalled": job.stalled, "failures": job.failures, "pid": os.getpid(),
    }  # fmt: skip


def _wait_for(key: str | None) -> None:
    with psycopg.connect(os.environ["EMQ_DSN"], autocommit=True) as connection:
        while key and not connection.execute("select 1 from go where key = %s", [key]).fetchone():
            time.sleep(0.02)


def _end(how: str) -> NoReturn:
    if how == "exit":
        os._exit(3)
    if how == "segfault":
        ctypes.string_at(0)
    if how == "worker" and b"tests.faults.child" in Path("/proc/self/cmdline").read_bytes():
        os.kill(os.getppid(), signal.SIGKILL)  # else this process is the worker
    if how == "memory":
        # The kernel kills who asks for memory that there is not. To have that happen, all of the
        # machine's would have to be taken: this one takes some, and is killed by its own hand.
        hoard = bytearray(HOARD)
        hoard[::4096] = b"x" * len(hoard[::4096])
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def fails(job: Job) -> NoReturn:
    """Raises each time."""
    raise ValueError(f"fails on purpose, attempt {job.attempts}")


def hopeless(job: Job) -> NoReturn:
    """Knows that another try cannot help."""
    raise Permanent(f"there is no customer {job.id}")


def overstays(job: Job) -> None:
    """Longer than its timeout; ends when it is told to."""
    job.wait_cancelled(600)


def on_dead(job: Job, **letter: Any) -> None:
    """Keeps what it was told of a dead letter."""
    insert = b"insert into effect (job, fence, what) values (%s, %s, %s)"
    _write(insert, letter["job_id"], job.fence, json.dumps(letter))


HANDLERS = {
    handler.task: handler
    for handler in (
        Handler("innocent", innocent, takes_context=True),
        Handler("poison", poison, takes_context=True),
        Handler("fails", fails, takes_context=True, backoff=0),
        Handler("hopeless", hopeless, takes_context=True),
        Handler(
            "overstays",
            overstays,
            takes_context=True,
            timeout=timedelta(seconds=0.1),
            backoff=0,
        ),
        Handler("on_dead", on_dead, takes_context=True),
    )
}
