"""What the bell gives and what it costs: pick-up without it, and 64 producers with and without."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from bench.compare.catalogue import Failed
from bench.settings import Sizes
from bench.suite.cell import Cell, Figures, Unsound
from bench.suite.crew import ROOT
from bench.suite.stage import Base, Stage
from bench.workloads.latency import paced


def cells(sizes: Sizes, *, huge: bool) -> list[Cell]:
    del huge
    crowd = f"{sizes.producers * sizes.producer_threads} producers"
    heard = f"{crowd}, a session always parked"
    return [
        Cell("doorbell", "latency-off", "idle worker that polls once a second", "p50_ms", polled,
             beside="latency:idle"),
        Cell("doorbell", "producers-off", f"{crowd}, no bell", "per_second",
             partial(produced, bell=False)),
        Cell("doorbell", "producers-on", heard, "per_second",
             partial(produced, bell=True), beside="doorbell:producers-off"),
    ]  # fmt: skip


def polled(stage: Stage) -> Figures:
    with stage.fresh() as base:
        sizes = stage.sizes
        return paced(stage, base, sizes.polled_jobs, bell=False, gap=sizes.polled_gap)


def produced(stage: Stage, *, bell: bool) -> Figures:
    """A real worker stops to wait for the bell as soon as jobs come; this session waits on, so
    that each ring that a producer may send is one that the server must deliver.
    """
    sizes = stage.sizes
    options = ["--threads", str(sizes.producer_threads), "--seconds", str(sizes.producer_seconds)]
    options += [] if bell else ["--no-bell"]
    command = [sys.executable, "-m", "bench.suite.producing", *options]
    with stage.fresh() as base, parked(base) as heard, ExitStack() as stack:
        producers = [
            stack.enter_context(
                subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
                    env=os.environ | {"EMQ_DSN": base.dsn},
                )
            )
            for _ in range(sizes.producers)
        ]  # fmt: skip
        bound = threading.Timer(stage.left(), _kill, [producers])
        bound.daemon = True
        bound.start()
        stack.callback(bound.cancel)
        for producer in producers:
            stack.callback(producer.kill)  # when something fails; else it has ended by then
            _answer(producer)
        base.settle()
        before, began = base.read(), time.monotonic()
        for producer in producers:
            assert producer.stdin is not None
            producer.stdin.write("go\n")
            producer.stdin.flush()
        added = sum(_answer(producer)["added"] for producer in producers)
        took, after = time.monotonic() - began, base.read()
        for producer in producers:
            producer.wait(stage.left())
        rings = len(heard)
        if (waiting := base.counts()["pending"]) != added or bool(rings) != bell:
            raise Unsound(f"{added} jobs were added, {waiting} wait, and {rings} rings were heard")
    return {
        "jobs": added,
        "seconds": round(took, 3),
        "per_second": round(added / took, 1),
        "rings": rings,
        **base.cost(before, after, added),
    }


def _kill(producers: list[subprocess.Popen[str]]) -> None:
    for producer in producers:
        producer.kill()


def _answer(producer: subprocess.Popen[str]) -> dict[str, int]:
    assert producer.stdout is not None
    line = producer.stdout.readline()
    if not line:
        raise Failed("a producer has ended")
    answer: dict[str, int] = json.loads(line)
    return answer


@contextmanager
def parked(base: Base) -> Iterator[list[str]]:
    """A session that waits at the bell all the time; the queues that it was rung for."""
    heard: list[str] = []
    done = threading.Event()
    with base.connect() as conn:
        conn.execute('listen "emq.ring"')
        conn.execute("select emq.park(array['default'])")

        def listen() -> None:
            while not done.is_set():
                heard.extend(ring.payload for ring in conn.notifies(timeout=0.2))

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        try:
            yield heard
        finally:
            done.set()
            thread.join(10)
