"""The contract between the harness and an adapter: lines of JSON on stdin and stdout.

An adapter is a program in the interpreter of its peer that ends in `wire.main(Adapter)`. Started
with `serve` it answers requests, one line each, in order:

    {"do": "install"}                                  the peer's schema, in an empty database
    {"do": "single", "first", "limit", "seconds"}      jobs one by one, a transaction each
    {"do": "bulk", "first", "limit", "seconds", "batch"}   jobs by the peer's bulk call
    {"do": "paced", "first", "count", "gap", "seed"}   single jobs with pauses, for latency
    {"do": "open"} {"do": "push", "first", "count"} {"do": "close"}   a producer that stays
    {"do": "counts"}                                   what the peer's own tables say

An answer has what was asked for, or "error". Started with `work` it is one worker process that runs
jobs until SIGTERM. The environment says where and how: BENCH_DSN (a libpq URL, or redis://), and
BENCH_SETTING (JSON: what is under [[setting]] in peer.toml); for workers BENCH_TALLY, and
BENCH_GATE where all workers of a drain are to begin at once (tally.py).

An adapter's methods may be coroutines; then one event loop serves them all.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Generator
from pathlib import Path
from typing import Any

DSN = os.environ.get("BENCH_DSN", "")
SETTING: dict[str, Any] = json.loads(os.environ.get("BENCH_SETTING", "{}"))
PAD = "x" * 78  # with {"n": 1234, "pad": ""} the payload has 100 bytes, give or take three

Answer = dict[str, Any]
Steps = Generator[Any, Any, Answer]  # yields awaitables, seconds to sleep, or None


class Adapter:
    """What an adapter is; every method may be `async def`."""

    def install(self) -> Any:
        """The peer's schema, as its documents say, and a queue."""

    def counts(self) -> Any:
        """{"left": jobs that are not over, "done": completed ones, or None where none is kept}."""
        raise NotImplementedError

    def open(self) -> Any:
        """Connect as a producer does."""

    def single(self, n: int) -> Any:
        """Add job n with `payload(n)`, committed when this returns."""
        raise NotImplementedError

    def bulk(self, numbers: range) -> Any:
        """Add these jobs with one call, where the peer has one."""
        raise NotImplementedError

    def close(self) -> Any:
        """Let go of what `open` took."""

    def work(self) -> Any:
        """Be one worker process until SIGTERM; may replace this process by the peer's command."""
        raise NotImplementedError


def payload(n: int) -> dict[str, Any]:
    """The arguments of job n: about 100 bytes as JSON."""
    return {"n": n, "pad": PAD}


def libpq(dsn: str = DSN) -> dict[str, str]:
    """The parts of a URL of a Unix socket, for peers that want them apart."""
    from urllib.parse import parse_qs, urlsplit

    parts = urlsplit(dsn)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    return {"user": parts.username or "", "dbname": parts.path.lstrip("/"), **query}


def counted(left: str, done: str | None) -> Answer:
    """Answers of two statements in the peer's database; psycopg is there in its environment."""
    import psycopg

    with psycopg.connect(DSN, autocommit=True) as conn:
        row = conn.execute(left.encode()).fetchone()
        kept = conn.execute(done.encode()).fetchone() if done else None
    return {"left": int(row[0]) if row else 0, "done": int(kept[0] or 0) if kept else None}


def stopping() -> asyncio.Event:
    """An event of the running loop that SIGTERM and SIGINT set."""
    event = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, event.set)
    return event


def become(program: str, *arguments: str) -> None:
    """Turn this process into a command of the peer's environment."""
    path = Path(sys.executable).parent / program
    os.execv(path, [str(path), *arguments])


def main(kind: type[Adapter]) -> None:
    adapter = kind()
    if sys.argv[1:] == ["work"]:
        worked = adapter.work()
        if inspect.isawaitable(worked):
            asyncio.run(_awaited(worked))
        return
    answers = os.fdopen(os.dup(1), "w")  # whatever a peer prints goes to stderr
    os.dup2(2, 1)
    with asyncio.Runner() as runner:
        for line in sys.stdin:
            request = json.loads(line)
            signal.alarm(int(request.pop("within", 0)))  # an adapter that hangs ends by itself
            try:
                answer = _driven(_steps(adapter, request.pop("do"), request), runner)
            except Exception as error:
                traceback.print_exc()
                answer = {"error": f"{type(error).__name__}: {error}"[:500]}
            signal.alarm(0)
            print(json.dumps(answer), file=answers, flush=True)


async def _awaited(step: Any) -> Any:
    return await step


def _driven(steps: Steps, runner: asyncio.Runner) -> Answer:
    """Run the steps without an event loop as long as none of them asks for one."""
    value: Any = None
    try:
        while True:
            value = step = steps.send(value)
            if isinstance(step, float):
                time.sleep(step)
            elif step is not None and inspect.isawaitable(step):
                return runner.run(_looped(step, steps))
    except StopIteration as end:
        answer: Answer = end.value
        return answer


async def _looped(step: Any, steps: Steps) -> Answer:
    try:
        while True:
            try:
                value = step
                if isinstance(step, float):
                    await asyncio.sleep(step)
                elif step is not None and inspect.isawaitable(step):
                    value = await step
            except Exception as error:
                step = steps.throw(error)
            else:
                step = steps.send(value)
    except StopIteration as end:
        answer: Answer = end.value
        return answer


def _steps(adapter: Adapter, do: str, given: Answer) -> Steps:
    if do == "counts":
        found: Answer = yield adapter.counts()
        return found
    if do in ("install", "open", "close"):
        yield getattr(adapter, do)()
        return {}
    if do == "push":
        yield adapter.bulk(range(given["first"], given["first"] + given["count"]))
        return {}
    yield adapter.open()
    try:
        return (yield from {"single": _single, "bulk": _bulk, "paced": _paced}[do](adapter, given))
    finally:
        yield adapter.close()


def _single(adapter: Adapter, given: Answer) -> Steps:
    n, last = given["first"], given["first"] + given["limit"]
    began = time.monotonic()
    until = began + given["seconds"]
    while n < last and time.monotonic() < until:
        yield adapter.single(n)
        n += 1
    return {"count": n - given["first"], "took": time.monotonic() - began}


def _bulk(adapter: Adapter, given: Answer) -> Steps:
    n, last = given["first"], given["first"] + given["limit"]
    began = time.monotonic()
    until = began + given["seconds"]
    while n < last and time.monotonic() < until:
        upto = min(last, n + given["batch"])
        yield adapter.bulk(range(n, upto))
        n = upto
    return {"count": n - given["first"], "took": time.monotonic() - began}


def _paced(adapter: Adapter, given: Answer) -> Steps:
    chance = random.Random(given["seed"])
    sent, committed = [], []
    for n in range(given["first"], given["first"] + given["count"]):
        yield chance.uniform(*given["gap"])
        sent.append(time.monotonic_ns())
        yield adapter.single(n)
        committed.append(time.monotonic_ns())
    return {"sent": sent, "committed": committed}
