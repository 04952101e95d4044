"""The Python package as a client under test: answers calls line by line, see `speaking.py`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, TextIO
from uuid import UUID

import psycopg

from emq_sql.errors import EmqError
from emq_sql.job import Claimed, Lease, NewJob
from emq_sql.protocol import claiming, connecting, enqueueing, holding, reading, steps, upkeep
from emq_sql.rules.ids import job_id

SCHEMA = "emq"
Given = dict[str, Any]
Conn = psycopg.Connection[Any]


def enqueue(conn: Conn, given: Given) -> str:
    job = NewJob(
        given["task"], json.dumps(given["payload"]), UUID(given["id"]),
        priority=given.get("priority", 2), delay=_seconds(given.get("delay")),
        max_attempts=given.get("max_attempts"), lease=_seconds(given.get("lease")),
    )  # fmt: skip
    return enqueueing.enqueue(conn, SCHEMA, given["queue"], job, own=True).status


def enqueue_many(conn: Conn, given: Given) -> list[str]:
    jobs = [NewJob(j["task"], json.dumps(j["payload"]), UUID(j["id"])) for j in given["jobs"]]
    answers = enqueueing.enqueue_many(conn, SCHEMA, given["queue"], jobs, own=True)
    return [answer.status for answer in answers]


def claim(conn: Conn, given: Given) -> list[Given]:
    claimed = claiming.claim(
        conn, SCHEMA, given["queue"], given["n"], given["worker"], given["nonce"],
        _seconds(given.get("lease")),
    )  # fmt: skip
    return [_row(one) for one in claimed]


def complete(conn: Conn, given: Given) -> Sequence[str]:
    results = given.get("results")
    texts = None if results is None else [json.dumps(result) for result in results]
    return holding.complete(conn, SCHEMA, _leases(given), texts, own=True)


def keep(conn: Conn, given: Given) -> Given:
    answers, paused = holding.keep(conn, SCHEMA, _leases(given), given["queues"], own=True)
    return {"answers": answers, "paused": paused}


def result(conn: Conn, given: Given) -> list[Any]:
    found = reading.result(conn, SCHEMA, UUID(given["id"]))
    return [] if found is None else [found["result"]]


CALLS: dict[str, Callable[[Conn, Given], Any]] = {
    "enqueue": enqueue,
    "enqueue_many": enqueue_many,
    "job_id": lambda _, given: str(job_id(given["key"], datetime.fromisoformat(given["at"]))),
    "claim": claim,
    "claimed": lambda conn, given: [
        _row(one) for one in claiming.claimed(conn, SCHEMA, given["nonce"])
    ],
    "complete": complete,
    "extend": lambda conn, given: holding.extend(
        conn, SCHEMA, _leases(given), _seconds(given.get("lease")), own=True
    ),
    "keep": keep,
    "retry": lambda conn, given: holding.retry(
        conn, SCHEMA, _leases(given), _all_seconds(given), given["errors"], own=True
    ),
    "snooze": lambda conn, given: holding.snooze(
        conn, SCHEMA, _leases(given), _all_seconds(given), own=True
    ),
    "release": lambda conn, given: holding.release(conn, SCHEMA, _leases(given), own=True),
    "stall": lambda conn, given: holding.stall(
        conn, SCHEMA, _leases(given), given["errors"], own=True
    ),
    "outcome": lambda conn, given: holding.outcome(conn, SCHEMA, UUID(given["id"]), given["fence"]),
    "result": result,
    "maintain": lambda conn, _: upkeep.maintain(conn, SCHEMA).ran,
}


def connect(dsn: str) -> Conn:
    conn = connecting.dedicated(connecting.engine_for(dsn))
    steps.require_newest(conn, schema=SCHEMA)
    return conn


def serve(requests: TextIO, replies: TextIO) -> None:
    """Until the requests end."""
    sessions: dict[str, Conn] = {}
    for line in requests:
        request = json.loads(line)
        session, given = request["session"], request["with"]
        try:
            if request["call"] == "connect":
                if session in sessions:
                    sessions.pop(session).close()
                sessions[session] = connect(given["dsn"])
                reply: Given = {"answer": None}
            else:
                reply = {"answer": CALLS[request["call"]](sessions[session], given)}
        except EmqError as error:
            state = getattr(error.__cause__, "sqlstate", None)
            reply = {"error": state or error.code, "message": str(error)}
        print(json.dumps(reply), file=replies, flush=True)


def _seconds(value: float | None) -> timedelta | None:
    return None if value is None else timedelta(seconds=value)


def _all_seconds(given: Given) -> list[timedelta]:
    return [timedelta(seconds=value) for value in given["delays"]]


def _leases(given: Given) -> list[Lease]:
    """What a holder's verbs look at is the id and the fence alone."""
    now, none = datetime.now().astimezone(), timedelta()
    return [
        Lease(UUID(id), fence, 0, now, none)
        for id, fence in zip(given["ids"], given["fences"], strict=True)
    ]


def _row(claimed: Claimed) -> Given:
    lease = claimed.lease
    return {
        "id": str(lease.id), "fence": lease.fence, "attempts": lease.attempts,
        "stalled": claimed.stalled, "failures": claimed.failures,
        "lease_deadline": lease.lease_deadline.isoformat(),
        "task": claimed.task, "payload": claimed.payload,
    }  # fmt: skip


if __name__ == "__main__":
    serve(sys.stdin, sys.stdout)
