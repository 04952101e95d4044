"""Which jobs pg_cron should have for a ledger, and how one of them does: decisions, no I/O."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from emq_sql.errors import BadSetting, NoPgCron
from emq_sql.protocol import croncommands

Kind = Literal["maintain", "tidy", "prune"]
KINDS: tuple[Kind, ...] = ("maintain", "tidy", "prune")

EVERY = 5  # seconds between passes
LONGEST_EVERY = 59  # pg_cron takes "1 seconds" to "59 seconds"
KEEP = 1000  # runs on record, of all jobs of a ledger together
SECONDS_SINCE = (1, 5)
OLDEST = (1, 4)

_NAME_BYTES = 63  # pg_cron's names are of the type name before 1.5, and cut in silence
_VERSION = re.compile(r"(\d+)\.(\d+)")
_SECONDS = re.compile(r"([1-9]|[1-5][0-9]) seconds?")
_EACH_MINUTE = "* * * * *"
_LONGEST = 200  # of what is told of a run that failed
_MINUTE = 60
_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Wanted:
    """One job as it should be."""

    kind: Kind
    name: str
    schedule: str
    command: str
    in_ledger: bool  # it runs in the database of the ledger, else in that of pg_cron


def parsed(version: str) -> tuple[int, int]:
    """1.4-1 is (1, 4). Raises NoPgCron below 1.4, which cannot do what is needed."""
    found = _VERSION.match(version)
    numbers = (int(found[1]), int(found[2])) if found else (0, 0)
    if numbers < OLDEST:
        raise NoPgCron(
            f"pg_cron {version} is too old: 1.4 is the first that will do.",
            hint="Update the package, then: alter extension pg_cron update; or let workers, or"
            " `emq maintain`, do the upkeep.",
        )
    return numbers


def names(database: str, schema: str) -> dict[Kind, str]:
    """`emq:<database>:<schema>:<kind>`, another one for each ledger of a cluster.

    A database's name that leaves no room is cut, and joined with a word that depends on all of it.
    """
    return {kind: _name(database, schema, kind) for kind in KINDS}


def mark(database: str, schema: str) -> str:
    """How each command for this ledger begins, so that its runs are known when the job is gone."""
    return f"/* emq:{_key(database, schema)}:"


def wanted(
    version: str, database: str, schema: str, every: int = EVERY, keep: int = KEEP
) -> tuple[Wanted, ...]:
    """The jobs for this version of pg_cron.

    From 1.5 on, a pass of maintain each `every` seconds, and once a minute what may take longer.
    Before, whose schedules know minutes only, a procedure that makes the passes and ends by itself
    before the next minute, however late in this one it was started: pg_cron 1.4 may begin no other
    job while it runs. Raises BadSetting for numbers that cannot be had.
    """
    if not 1 <= every <= LONGEST_EVERY:
        raise BadSetting(
            f"A pass each {every} s cannot be had from pg_cron.",
            hint=f"Give --every of 1 to {LONGEST_EVERY} whole seconds.",
        )
    if keep < 0:
        raise BadSetting(f"{keep} runs cannot be kept.", hint="Give 0 or more.")
    by_name, begin = names(database, schema), mark(database, schema)

    def job(kind: Kind, schedule: str, command: str) -> Wanted:
        text = f"{begin}{kind} */ {command}"
        return Wanted(kind, by_name[kind], schedule, text, in_ledger=kind != "prune")

    prune = job(
        "prune", f"{_minute(database, schema)} * * * *",
        croncommands.pruning(by_name.values(), begin, keep),
    )  # fmt: skip
    if parsed(version) >= SECONDS_SINCE:
        return (
            job("maintain", f"{every} seconds", croncommands.one_pass(schema)),
            job("tidy", _EACH_MINUTE, croncommands.tidying(schema)),
            prune,
        )
    passes = croncommands.passes_within_the_minute(schema, every)
    return job("maintain", _EACH_MINUTE, passes), prune


def needed(jobs: tuple[Wanted, ...]) -> list[str]:
    """The functions of the ledger that the role of the jobs must be allowed to execute."""
    looped = any("maintain_loop" in job.command for job in jobs)
    return ["maintain", *(["maintain_loop", "tidy"] if looped else [])]


def period(schedule: str) -> int | None:
    """Seconds between two starts, of a schedule of the forms that are made here, else None."""
    if found := _SECONDS.fullmatch(schedule.strip()):
        return int(found[1])
    fields = schedule.split()
    if fields == _EACH_MINUTE.split():
        return _MINUTE
    if len(fields) == 5 and fields[0].isdigit() and fields[1:] == ["*"] * 4:
        return _HOUR
    return None


def reap_interval(schedule: str, command: str) -> int | None:
    """Seconds between two passes that a job of maintain makes, as far as its text says so."""
    if found := re.search(r"maintain_loop\(.*'(\d+) s'\)", command):
        return int(found[1])
    return period(schedule)


def trouble(job: Mapping[str, Any], run: Mapping[str, Any] | None) -> str | None:
    """What is not well with a job, given its newest run; None when all is."""
    if not job["active"]:
        return "switched off"
    if len(job["schedule"].split()) == 6:
        return "six fields: pg_cron leaves out the last one"
    if run is None:
        return None
    if run["status"] == "failed":
        said = (run["message"] or "").strip().partition("\n")[0]
        return f"failed: {said[:_LONGEST] or 'without a word'}"
    late = lateness(job, run)
    return f"the last run began {run['seconds']:.0f} s ago" if late else None


def lateness(job: Mapping[str, Any], run: Mapping[str, Any]) -> float:
    """Seconds by which the next run is late; 0 for a delay that is usual."""
    length = period(job["schedule"])
    if length is None or run["seconds"] is None:
        return 0.0
    over = float(run["seconds"]) - length
    return over if over > max(length, 15) else 0.0


def _name(database: str, schema: str, kind: Kind) -> str:
    whole = f"emq:{database}:{schema}:{kind}"
    over = len(whole.encode()) - _NAME_BYTES
    if over <= 0:
        return whole
    word = f"~{_key(database, schema)[:8]}"
    room = len(database.encode()) - over - len(word)
    kept = database.encode()[: max(room, 0)].decode(errors="ignore")
    return f"emq:{kept}{word}:{schema}:{kind}"


def _key(database: str, schema: str) -> str:
    return hashlib.sha256(f"{database}\0{schema}".encode()).hexdigest()[:16]


def _minute(database: str, schema: str) -> int:
    """Not all ledgers of a cluster at the same minute."""
    return int(_key(database, schema), 16) % _MINUTE
