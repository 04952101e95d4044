"""Two ways to speak to a client under test: SQL, which is the protocol itself, and a program."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg

from emq_sql.protocol import steps
from tests.conformance.client import ClientRefused

ROOT = Path(__file__).resolve().parents[2]

_SECONDS = "make_interval(secs => %({})s::float8)"
_ALL_SECONDS = "array(select make_interval(secs => s) from unnest(%(delays)s::float8[]) s)"
_HELD = "%(ids)s::uuid[], %(fences)s::bigint[]"
_LEASE = _SECONDS.format("lease")

SQL = {
    "enqueue": "select status from emq.enqueue(%(queue)s, %(task)s, %(payload)s::jsonb,"
    " %(id)s::uuid, p_priority => coalesce(%(priority)s::int, 2),"
    f" p_delay => {_SECONDS.format('delay')}, p_max_attempts => %(max_attempts)s::int,"
    f" p_lease => {_LEASE})",
    "enqueue_many": "select to_jsonb(emq.enqueue_many(%(queue)s,"
    " array_agg((j ->> 'id')::uuid order by i), array_agg(j ->> 'task' order by i),"
    " array_agg(j -> 'payload' order by i)))"
    " from jsonb_array_elements(%(jobs)s::jsonb) with ordinality as x (j, i)",
    "job_id": "select emq.job_id(%(key)s, %(at)s::timestamptz)::text",
    "claim": "select coalesce(jsonb_agg(c), '[]') from emq.claim(%(queue)s, %(n)s, %(worker)s,"
    f" %(nonce)s::bigint, {_LEASE}) c",
    "claimed": "select coalesce(jsonb_agg(c), '[]') from emq.claimed(%(nonce)s::bigint) c",
    "complete": f"select to_jsonb(emq.complete({_HELD}, %(results)s::text[]::jsonb[]))",
    "extend": f"select to_jsonb(emq.extend({_HELD}, {_LEASE}))",
    "keep": f"select to_jsonb(k) from emq.keep({_HELD}, %(queues)s::text[]) k",
    "retry": f"select to_jsonb(emq.retry({_HELD}, {_ALL_SECONDS}, %(errors)s::text[]))",
    "snooze": f"select to_jsonb(emq.snooze({_HELD}, {_ALL_SECONDS}))",
    "release": f"select to_jsonb(emq.release({_HELD}))",
    "stall": f"select to_jsonb(emq.stall({_HELD}, %(errors)s::text[]))",
    "outcome": "select emq.outcome(%(id)s::uuid, %(fence)s::bigint)",
    "result": "select coalesce(jsonb_agg(r.result), '[]') from emq.result(%(id)s::uuid) r",
    "maintain": "select ran from emq.maintain()",
}
_OPTIONAL = dict.fromkeys(("priority", "delay", "max_attempts", "lease", "results"))


class SqlSpeaker:
    """Calls the SQL functions as any program with a driver for PostgreSQL can."""

    def __init__(self) -> None:
        self._sessions: dict[str, psycopg.Connection[Any]] = {}

    def call(self, session: str, verb: str, given: Mapping[str, Any]) -> Any:
        if verb == "connect":
            return self._connect(session, given["dsn"])
        values = {name: _plain(name, value) for name, value in (_OPTIONAL | dict(given)).items()}
        try:
            row = self._sessions[session].execute(SQL[verb].encode(), values).fetchone()
        except psycopg.Error as error:
            raise ClientRefused(error.sqlstate or "08000", str(error)) from error
        assert row is not None
        return row[0]

    def _connect(self, session: str, dsn: str) -> None:
        self._forget(session)
        conn = psycopg.connect(dsn, autocommit=True)
        self._sessions[session] = conn
        row = conn.execute("select version from emq.meta").fetchone()
        if row != (steps.newest(),):
            raise ClientRefused("version", f"made for {steps.newest()}, and there is {row}")

    def _forget(self, session: str) -> None:
        if session in self._sessions:
            self._sessions.pop(session).close()

    def close(self) -> None:
        for session in list(self._sessions):
            self._forget(session)


class ProgramSpeaker:
    """Writes each call as a line of JSON to a program, and reads its answer as another one."""

    def __init__(self, command: Sequence[str]) -> None:
        self._program = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            encoding="utf-8",
        )  # fmt: skip

    def call(self, session: str, verb: str, given: Mapping[str, Any]) -> Any:
        assert self._program.stdin and self._program.stdout
        line = json.dumps({"session": session, "call": verb, "with": given})
        with contextlib.suppress(BrokenPipeError):  # then there is no answer either
            self._program.stdin.write(line + "\n")
            self._program.stdin.flush()
        said = self._program.stdout.readline()
        assert said, f"the client ended with code {self._program.wait()} instead of answering"
        reply = json.loads(said)
        if "error" in reply:
            raise ClientRefused(reply["error"], reply.get("message", ""))
        return reply["answer"]

    def close(self) -> None:
        with self._program:
            assert self._program.stdin
            self._program.stdin.close()  # the end of its input is the end of the program


def _plain(name: str, value: Any) -> Any:
    if name in ("payload", "jobs"):
        return json.dumps(value)
    if name == "results" and value is not None:
        return [json.dumps(each) for each in value]
    return value
