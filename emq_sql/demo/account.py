"""The account of a run: read from the database, and whether it balances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg

from emq_sql.demo.faults import KILLS
from emq_sql.demo.queries import Schemas, rows
from emq_sql.demo.scene import Happened


@dataclass(frozen=True, slots=True)
class Figures:
    """What the tables say; see `sql/account.sql`."""

    files: int
    enqueued: int
    without_file: int
    completed: int
    unfinished: int
    dead: int
    lost: int
    twice: int
    stale: int
    misplaced: int
    redelivered: int
    refused: int
    with_error: int
    python: int
    lines: int
    functions: int
    classes: int
    processes: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the account; `good` is None where there is nothing to balance."""

    name: str
    value: str
    good: bool | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Account:
    """All lines, for people; it balances when none of them is bad."""

    lines: tuple[Line, ...]

    @property
    def balances(self) -> bool:
        """True when each line that can be wrong is right."""
        return all(line.good is not False for line in self.lines)


def figures(conn: psycopg.Connection[Any], schemas: Schemas) -> Figures:
    """Read them, all in one snapshot."""
    return Figures(**rows(conn, schemas, "account")[0])


def much_travelled(conn: psycopg.Connection[Any], schemas: Schemas) -> UUID | None:
    """The job that took most attempts, for people to look at."""
    found = rows(conn, schemas, "much_travelled")
    return found[0]["id"] if found else None


def account(found: int, read: Figures, happened: Happened, elapsed: float) -> Account:
    """Compare what was found on disk, what the tables say, and what was done to the workers.

    It balances when each file has one job that completed once with one result, nothing is left
    over, and the faults did take place: both kills met jobs in hand, and a late completion was
    refused.
    """
    deaths, freezes = happened.deaths, happened.freezes
    recovered = " and ".join(f"{death.seconds:.1f}" for death in deaths) or "-"
    rate = read.completed / read.seconds if read.seconds else 0.0
    return Account(
        (
            _must_be("files", read.files, found, f"found on disk: {found:,}"),
            _must_be("enqueued", read.enqueued, read.files),
            _must_be("completed", read.completed, read.enqueued),
            _must_be("lost", read.lost, 0),
            _must_be("results written twice", read.twice, 0),
            _must_be("results under a stale fence", read.stale, 0),
            _must_be("jobs without a file", read.without_file, 0),
            _must_be("in more than one place", read.misplaced, 0, "or in none"),
            _must_be("unfinished", read.unfinished, 0),
            _must_be("dead letters", read.dead, 0),
            Line("redelivered", f"{read.redelivered:,}", note="took more than one attempt"),
            Line(
                "refused late completions", f"{read.refused:,}", read.refused > 0,
                "by workers that had lost the job",
            ),
            _must_be("workers killed", len(deaths), KILLS, _in_hand([d.jobs for d in deaths])),
            _must_be("workers frozen", len(freezes), 1, _in_hand([f.jobs for f in freezes])),
            Line(
                "from death to recovery", f"{recovered} s",
                note="until the last job of the dead was in other hands, server's clock",
            ),
            Line("processes that worked", f"{read.processes:,}"),
            Line("jobs a second", f"{rate:,.0f}", note="faults and slow jobs included"),
            Line("elapsed", f"{elapsed:.1f} s", note="with the start and the end of the server"),
            Line(
                "measured", f"{read.lines:,} lines",
                note=f"{read.functions:,} functions and {read.classes:,} classes in {read.python:,}"
                f" Python files; {read.with_error:,} files with an error of their own",
            ),
        )
    )  # fmt: skip


def _must_be(name: str, value: int, wanted: int, note: str = "") -> Line:
    return Line(name, f"{value:,}", value == wanted, note)


def _in_hand(jobs: list[int]) -> str:
    return f"jobs in hand: {' and '.join(map(str, jobs))}" if jobs else ""
