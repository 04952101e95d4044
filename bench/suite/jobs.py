"""The application that `emq worker` loads, and the jobs as producers and SQL make them.

A handler notes in the tally of its worker that job `n` began. EMQ_DSN says which database.
"""

from __future__ import annotations

import json
import time
from typing import Any

import psycopg

from bench.compare.contract import tally
from bench.settings import PAYLOAD_BYTES, WAIT_MS
from emq_sql import EMQ

_EMPTY = len(json.dumps({"n": 100_000, "pad": ""}))
PAD = "x" * (PAYLOAD_BYTES - _EMPTY)
_CHUNK = 10_000

_FILL = """
select emq.enqueue_many(%(queue)s,
  array(select emq.uuid7() from generate_series(1, %(n)s::int)),
  array_fill(%(task)s::text, array[%(n)s]),
  array(select jsonb_build_object('n', g, 'pad', %(pad)s::text)
          from generate_series(%(first)s::int, %(first)s::int + %(n)s::int - 1) g))
"""


def noop(n: int, pad: str) -> None:  # noqa: ARG001  what the payload has
    tally.ran(n)


def waits(n: int, pad: str) -> None:  # noqa: ARG001
    tally.ran(n)
    time.sleep(WAIT_MS / 1000)


def application(dsn: str | None = None, *, bell: bool = True) -> EMQ:
    """An EMQ with both tasks."""
    emq = EMQ(dsn, bell=bell)
    emq.task(name="noop")(noop)
    emq.task(name="waits")(waits)
    return emq


emq = application()
silent = application(bell=False)


def payload(n: int) -> dict[str, Any]:
    return {"n": n, "pad": PAD}


def fill(
    conn: psycopg.Connection[Any], jobs: int, *, first: int = 0, task: str = "noop",
    queue: str = "default",
) -> None:  # fmt: skip
    """Add jobs `first`, `first` + 1 ... through emq.enqueue_many, with what is made of them on the
    server: a producer in Python would take longer. In the transaction of `conn`, if it has one.
    """
    for at in range(first, first + jobs, _CHUNK):
        n = min(_CHUNK, first + jobs - at)
        given = {"queue": queue, "task": task, "pad": PAD, "n": n, "first": at}
        conn.execute(_FILL.encode(), given)
