"""The guard in transactions of any driver's: what is asked, and what the errors mean.

A driver's connection is known here by one function alone, `Ask`: so psycopg, asyncpg and psycopg2
are the same, under SQLAlchemy or Django.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import psycopg

from emq_sql.errors import CannotGuard, EmqError, JobFinished, LeaseBusy, LeaseLost
from emq_sql.job import Lease, Outcome
from emq_sql.protocol.adapt import cursor
from emq_sql.protocol.troubles import OURS

# All of it is readable by anybody, and none of it can fail, on any PostgreSQL from 10 on. The place
# is the server as it runs and the database: wherever a connection comes from, and of no two alike.
_LOOK = """
select pg_catalog.json_build_array(
  case when f.commit is null then case when f.guard is null then 'none' else 'old' end
       when pg_catalog.has_schema_privilege(n.oid, 'usage')
        and pg_catalog.has_function_privilege(f.commit, 'execute')
        and pg_catalog.has_function_privilege(f.ledger, 'execute') then 'open'
       else 'closed' end,
  current_user,
  pg_catalog.concat(extract(epoch from pg_catalog.pg_postmaster_start_time()), ' ', d.oid),
  pg_catalog.txid_current_if_assigned() is not null)::text
  from pg_catalog.pg_database d
  left join pg_catalog.pg_namespace n on n.nspname = '{schema}'
  left join lateral (
    select max(p.oid::text) filter (where p.proname = 'guard')::oid as guard,
           max(p.oid::text) filter (where p.proname = 'guard_commit')::oid as commit,
           max(p.oid::text) filter (where p.proname = 'ledger_id')::oid as ledger
      from pg_catalog.pg_proc p where p.pronamespace = n.oid) f on true
 where d.datname = pg_catalog.current_database()
"""

_LOCKED = "55P03"
_SERIALIZATION = "40001"
_FAILED_TRANSACTION = "25P02"
_READ_ONLY = "25006"
_CANNOT = ("42501", "42883", "3F000")  # no right, no such function, no such schema


class Ask(Protocol):
    """Runs a statement in the transaction that is open, and answers its only value.

    The statement names its arguments $1, $2, each once and in this order; `spelled` writes them as
    most drivers do.
    """

    def __call__(self, statement: str, *arguments: str | int) -> Any: ...


@dataclass(frozen=True, slots=True)
class Sight:
    """What a database shows of the ledger in a schema.

    `none`: there is none. `old`: its schema knows no guard of commits. `closed`: this role may not
    use the guard. `open`: it may, and `ledger` says which ledger it is.
    """

    standing: Literal["none", "old", "closed", "open"]
    role: str
    place: str  # the server as it runs, and the database
    wrote: bool  # whether the transaction has written anything
    ledger: str | None


def spelled(statement: str, arguments: tuple[str | int, ...]) -> tuple[str, tuple[str | int, ...]]:
    """The statement as psycopg and psycopg2 want it: so psycopg prepares it once for all jobs."""
    for n in range(1, len(arguments) + 1):
        statement = statement.replace(f"${n}", "%s")
    return statement, arguments


def asked_in(conn: psycopg.Connection[Any]) -> Ask:
    """The `Ask` of a psycopg connection."""

    def ask(statement: str, *arguments: str | int) -> Any:
        with cursor(conn) as c:
            text, values = spelled(statement, arguments)
            row = c.execute(text.encode(), values or None).fetchone()
        return row and row[0]

    return ask


def look(ask: Ask, schema: str) -> Sight:
    """What there is of a ledger; nothing that is asked for can be missing."""
    standing, role, place, wrote = json.loads(ask(_LOOK.replace("{schema}", schema)))
    ledger = str(ask(f"select {schema}.ledger_id()::text")) if standing == "open" else None
    return Sight(standing, role, place, wrote, ledger)


def wrote(ask: Ask) -> bool:
    """Whether the transaction has written anything."""
    return bool(ask("select pg_catalog.txid_current_if_assigned() is not null"))


def guard(ask: Ask, schema: str, lease: Lease) -> None:
    """Hold the ownership of the job to the end of the transaction."""
    ask(f"select {schema}.guard({_ID}, {_FENCE})::text", *_of(lease))


def guard_commit(ask: Ask, schema: str, lease: Lease) -> None:
    """The last statement before COMMIT: the same, if anything was written."""
    ask(f"select {schema}.guard_commit({_ID}, {_FENCE})", *_of(lease))


def guard_and_commit(send: Callable[[str], object], schema: str, lease: Lease) -> None:
    """The guard and the COMMIT in one round trip: a guard that raises leaves the other undone."""
    send(f"{in_text(schema, 'guard_commit', lease)}; commit")


def in_text(schema: str, function: str, lease: Lease) -> str:
    """A guard that can stand in one text with other statements, and so has no parameters."""
    return f"select {schema}.{function}('{lease.id.hex}'::uuid, {int(lease.fence)}::bigint)"


def outcome(ask: Ask, schema: str, lease: Lease) -> Outcome:
    """What became of this claim."""
    answer: Outcome = ask(f"select {schema}.outcome({_ID}, {_FENCE})", *_of(lease))
    return answer


def refusal(error: BaseException, lease: Lease) -> EmqError | None:
    """Our error, when the guard has refused; the driver's is to be its cause.

    LeaseLost, LeaseBusy when an open transaction may settle the job (or take it away) yet, or
    CannotGuard in a transaction that is read-only.
    """
    if state(error) == _READ_ONLY:
        return CannotGuard(
            f"A transaction that is read-only cannot hold job {lease.id}, so what it has written"
            " (into a temporary table, or before it was read-only) cannot be committed.",
            hint="Leave the transaction read-write, or write in `with unguarded():`.",
        )
    if state(error) == _LOCKED:
        return LeaseBusy(
            f"Job {lease.id} is being settled in a transaction that is still open: nothing else can"
            " be committed for it.",
            hint="If that is the handler's own, commit that first, or write this in it.",
        )
    kind = OURS.get(state(error) or "")
    if kind is None or not issubclass(kind, LeaseLost):
        return None
    said, hint = _said(error)
    return kind(f"{said[:1].upper()}{said[1:]}.", hint=hint or "Roll back.")


def taken_away(answer: Outcome, lease: Lease) -> LeaseLost | None:
    """Our error for what became of a claim whose guard could not see it; None while it is held."""
    if answer == "yours":
        return None
    what = f"The lease of job {lease.id} is over ({answer})."
    ours = answer in ("completed", "handed back")
    return (JobFinished if ours else LeaseLost)(what, hint="Nothing was committed: roll back.")


def serialization_failed(error: BaseException) -> bool:
    """Whether the transaction's snapshot is too old to say whose the job is."""
    return state(error) == _SERIALIZATION


def had_failed(error: BaseException) -> bool:
    """Whether the transaction had failed before it was asked: its COMMIT is a rollback."""
    return state(error) == _FAILED_TRANSACTION


def cannot(error: BaseException) -> bool:
    """Whether the guard is not there, or not for this role."""
    return state(error) in _CANNOT


def state(error: BaseException) -> str | None:
    """The SQLSTATE of any driver's error."""
    # psycopg2 says pgcode; SQLAlchemy's asyncpg says both
    found: str | None = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
    return found


_ID, _FENCE = "$1::text::uuid", "$2::bigint"


def _of(lease: Lease) -> tuple[str, int]:
    return str(lease.id), lease.fence


def _said(error: BaseException) -> tuple[str, str | None]:
    diag = getattr(error, "diag", None)
    if diag is not None:
        said, hint = diag.message_primary, diag.message_hint
    else:  # asyncpg's own error is the cause of SQLAlchemy's
        said, hint = (getattr(error.__cause__, name, None) for name in ("message", "hint"))
    return (said or str(error)).removeprefix("emq: ").rstrip("."), hint
