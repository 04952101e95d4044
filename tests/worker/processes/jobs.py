"""The tasks that the children of these tests run, besides those of the fault tests."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg

from emq_sql.worker.context import Job
from emq_sql.worker.handler import Handler
from tests.faults import jobs as faults


def _connect() -> psycopg.Connection[tuple[Any, ...]]:
    return psycopg.connect(os.environ["EMQ_DSN"])


def _note(job: Job, what: object) -> None:
    with _connect() as connection:
        connection.execute(
            "insert into effect (job, fence, what, pid) values (%s, %s, %s, %s)",
            [job.id, job.fence, str(what), os.getpid()],
        )


def _tell_started(job: Job) -> None:
    """Also writes down an `overlap`, when the process of an earlier attempt still lives."""
    with _connect() as connection:
        earlier = connection.execute("select pid from started where job = %s", [job.id]).fetchall()
        for (pid,) in earlier:
            if pid != os.getpid() and Path(f"/proc/{pid}").exists():
                connection.execute(
                    "insert into effect (job, fence, what) values (%s, %s, 'overlap')",
                    [job.id, job.fence],
                )
        connection.execute(
            "insert into started (job, attempts, pid) values (%s, %s, %s)",
            [job.id, job.attempts, os.getpid()],
        )


def holds_the_gil(seconds: float) -> str:
    """In C code that keeps every other thread of its process from running."""
    ctypes.PyDLL(None).usleep(int(seconds * 1_000_000))
    return "slept"


async def awaits(seconds: float) -> str:
    """Gives way to all others."""
    await asyncio.sleep(seconds)
    return "slept"


def dies_by(job: Job, how: str, times: int = 1) -> str:
    """Ends its process in one of the ways that no handler can catch."""
    if job.attempts > times:
        return "alive"
    if how == "exit":
        os._exit(3)
    if how == "segfault":
        ctypes.string_at(0)
    if how == "rubbish":
        os.write(_channel(), b"hello\n" * 100)
    if how == "no frame":
        os.write(_channel(), struct.pack("!i", 4) + b"none")
    if how == "no such frame":
        os.write(_channel(), struct.pack("!i", 30) + b'{"kind":"thanks","fence":null}')
    if how == "close":
        os.closerange(3, 64)
    if how == "orphan":
        orphan = os.fork()
        if orphan == 0:
            while True:
                signal.pause()
        _note(job, orphan)
        os._exit(4)
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how in {"no frame", "no such frame", "rubbish"}:
        signal.pause()
    return "alive"


def _channel() -> int:
    (fd,) = [fd for fd in _sockets() if socket.socket(fileno=os.dup(fd)).family == socket.AF_UNIX]
    return fd


def _sockets() -> list[int]:
    return [fd for fd, target in descriptors() if target.startswith("socket:")]


def descriptors() -> list[tuple[int, str]]:
    """What this process has open, as the kernel says it."""
    found = []
    for entry in sorted(Path("/proc/self/fd").iterdir(), key=lambda entry: int(entry.name)):
        try:
            found.append((int(entry.name), str(entry.readlink())))
        except FileNotFoundError:  # the one that reads the directory
            continue
    return found


def prints(job: Job, lines: int) -> str:
    """Writes what is no frame to stdout, and past Python's buffer too."""
    for _ in range(lines):
        print(f"hello from {job.id}", flush=True)
        os.write(1, struct.pack("!i", -1))
    return "printed"


def stuck(job: Job) -> None:
    """Never ends, and no thread of its process runs meanwhile."""
    _tell_started(job)
    while True:
        ctypes.PyDLL(None).usleep(1_000_000_000)


def deaf(job: Job) -> str:
    """Never asks whether it should stop."""
    _tell_started(job)
    while True:
        time.sleep(0.1)


def heeds(job: Job) -> str:
    """Runs until it is told to stop, and writes down why."""
    _tell_started(job)
    job.wait_cancelled()
    _note(job, job.cancel_reason)
    return "was told to stop"


async def heeds_async(job: Job) -> None:
    """The same for a coroutine, whose task is cancelled."""
    _tell_started(job)
    try:
        await asyncio.sleep(600)
    finally:
        _note(job, job.cancel_reason)


class _OfTheLoop:
    loop: asyncio.AbstractEventLoop | None = None
    beats = 0


async def on_the_loop(job: Job) -> str:
    """Leaves a task on the event loop, and finds it there the next time."""

    async def beat() -> None:
        while True:
            _OfTheLoop.beats += 1
            await asyncio.sleep(0.01)

    if _OfTheLoop.loop is None:
        _OfTheLoop.loop = asyncio.get_running_loop()
        _OfTheLoop.task = asyncio.create_task(beat())  # type: ignore[attr-defined]
        return "first"
    assert _OfTheLoop.loop is asyncio.get_running_loop()
    await job.aextend()
    return f"again, {'beating' if _OfTheLoop.beats > 1 else 'silent'}"


def extends(job: Job) -> list[Any]:
    """What the grip says, before and after an extension."""
    first = job.lease_deadline
    time.sleep(0.05)
    job.extend()
    second = job.lease_deadline
    job.extend(3600)
    third = job.lease_deadline
    return [first < second < third, job.cancelled, job.cancel_reason, job.queue_paused]


def snoozes(job: Job) -> str:
    """Not the first time."""
    if job.attempts == 1:
        job.snooze(0.1)
        try:
            job.snooze(3600)
        except Exception as error:
            _note(job, type(error).__name__)
        raise ValueError("after the snooze")
    return "later"


def completes(job: Job, then: str, seconds: float = 0.0) -> str:
    """An effect and the completion in one transaction, and what a handler may do around it."""
    with _connect() as connection:
        connection.execute(
            "insert into effect (job, fence, what, pid) values (%s, %s, 'effect', %s)",
            [job.id, job.fence, os.getpid()],
        )
        job.complete(connection, {"by": then})
        if then == "waits":
            time.sleep(seconds)
        if then == "dies before" and job.attempts == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if then == "rolls back":
            connection.rollback()
            time.sleep(seconds)
            job.extend()
            return "nothing came of it"
        connection.commit()
    if then == "goes on":
        time.sleep(seconds)
    if then == "dies after":
        os.kill(os.getpid(), signal.SIGKILL)
    if then == "extends":
        try:
            job.extend()
        except Exception as error:
            _note(job, type(error).__name__)
    if then == "raises":
        raise ValueError("after its completion")
    return "ignored"


def tells(job: Job, **given: Any) -> dict[str, Any]:
    """What it was called with, and what it knows of itself."""
    return {"given": given, "headers": dict(job.headers), "key": job.idempotency_key}


def echo(text: str) -> str:
    """Its argument."""
    return text


def size(text: str) -> int:
    """The length of its argument."""
    return len(text)


def too_much() -> str:
    """A result that no ledger keeps."""
    return "\N{SNOWMAN}" * 1_000_000


def at_the_limit() -> str:
    """The longest result of characters that JSON may write as six."""
    return '\x7f\N{LATIN SMALL LETTER E WITH ACUTE}\\"' * 9_300


def pid() -> int:
    """Whose child ran it."""
    return os.getpid()


def exits() -> None:
    """An exit that Python can catch."""
    sys.exit(5)


def ends_a_program() -> int:
    """The exit code of a program that was asked to end."""
    program = subprocess.Popen(["sleep", "600"])
    program.terminate()
    return program.wait()


def raises(text: str) -> None:
    """With a traceback."""
    raise ValueError(text)


class Lazy:
    """A proxy whose target is not to be had."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise RuntimeError("it is not connected")


def lazy() -> Lazy:
    """A result that cannot be looked at."""
    return Lazy()


async def stops_the_loop() -> str:
    """And awaits."""
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0.01)
    return "went on"


async def closes_the_loop(job: Job) -> str:
    """By force, and waits for what will never come. Not the second time."""
    if job.attempts == 1:
        loop: Any = asyncio.get_running_loop()
        loop.call_soon(loop._selector.close)
        await asyncio.sleep(600)
    return "on another one"


SHORT = timedelta(seconds=0.3)
HANDLERS = faults.HANDLERS | {
    handler.task: handler
    for handler in (
        Handler("holds_the_gil", holds_the_gil),
        Handler("awaits", awaits),
        Handler("dies_by", dies_by, takes_context=True),
        Handler("descriptors", descriptors),
        Handler("prints", prints, takes_context=True),
        Handler("stuck", stuck, takes_context=True),
        Handler("stuck_too_long", stuck, takes_context=True, timeout=SHORT, backoff=0.01),
        Handler("deaf", deaf, takes_context=True),
        Handler("heeds", heeds, takes_context=True),
        Handler("heeds_too_late", heeds, takes_context=True, timeout=SHORT, backoff=0.01),
        Handler("heeds_async", heeds_async, takes_context=True, timeout=SHORT, backoff=0.01),
        Handler("on_the_loop", on_the_loop, takes_context=True),
        Handler("extends", extends, takes_context=True),
        Handler("snoozes", snoozes, takes_context=True),
        Handler("completes", completes, takes_context=True, backoff=0.01),
        Handler("tells", tells, takes_context=True),
        Handler("echo", echo),
        Handler("lazy", lazy),
        Handler("stops_the_loop", stops_the_loop),
        Handler("closes_the_loop", closes_the_loop, takes_context=True, backoff=0.01),
        Handler("size", size),
        Handler("too_much", too_much),
        Handler("at_the_limit", at_the_limit),
        Handler("pid", pid),
        Handler("exits", exits, backoff=0.01),
        Handler("ends_a_program", ends_a_program),
        Handler("raises", raises, backoff=0.01),
    )
}
