"""emq refusals: what stale workers tried, for people and for programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner

from emq_sql.cli.main import main
from emq_sql.minting import new_id
from tests.cli.conftest import Emq, Holder, Said, until_expired
from tests.plugins.databases import Database

TWO_CLAIMS = 2
Say = Callable[..., Said]


@pytest.fixture
def say(db: Database) -> Say:
    """The command in this process, which takes a tenth of the time."""

    def said(*words: str) -> Said:
        done = CliRunner().invoke(main, words, env={"EMQ_DSN": db.dsn})
        return Said(done.exit_code, done.stdout, done.stderr)

    return said


@pytest.fixture
def record(reader: psycopg.Connection[Any], hold: Callable[..., Holder]) -> list[str]:
    """Two jobs whose holder was killed and that another one has claimed. For the holder, as if it
    had come back: of the first a guard and a completion were refused, of the second a completion.
    """
    for task in ("charge", "report"):
        reader.execute("select emq.enqueue('default', %s, '{}')", [task])
    first = hold(TWO_CLAIMS, lease=1)
    fences = reader.execute("select id, fence from emq.active order by id").fetchall()
    first.kill()
    until_expired(reader, TWO_CLAIMS)
    reader.execute("select emq.reap()")
    assert sorted(hold(TWO_CLAIMS).ids) == sorted(first.ids)
    (charge, _), (report, _) = fences
    for id, fence in fences:
        reader.execute("select emq.complete(array[%s], array[%s])", [id, fence])
    reader.execute(
        "select emq.note_refusals(array[%s], array[%s], array['guard'], array[interval '0'])",
        fences[0],
    )
    return [str(charge), str(report)]


def test_they_are_listed_newest_first_with_what_they_cost(
    emq: Emq, say: Say, record: list[str]
) -> None:
    charge, report = record
    rows = say("refusals", "--json").json
    calls = [(row["id"], row["task"], row["attempts"], row["worker"], row["verb"]) for row in rows]
    assert calls == [
        (charge, "charge", 1, "holder-1", "guard"),
        (report, "report", 1, "holder-1", "complete"),
        (charge, "charge", 1, "holder-1", "complete"),
    ]
    for row in rows:
        assert 0 < row["overlap_seconds"] < row["late_seconds"]
    title, *lines = emq("refusals").lines
    assert title.split() == [
        "at", "job", "task", "attempt", "worker", "verb", "late", "s", "overlap", "s"
    ]  # fmt: skip
    assert [line.split()[2] for line in lines] == [charge, report, charge]


def test_they_are_narrowed_by_job_task_time_and_number(say: Say, record: list[str]) -> None:
    charge, report = record
    assert len(say("refusals", "--job", charge, "--json").json) == 2
    assert [row["id"] for row in say("refusals", "--task", "report", "--json").json] == [report]
    assert say("refusals", "--task", "none", "--json").json == []
    assert len(say("refusals", "--since", "1h", "--json").json) == 3
    assert say("refusals", "--since", "1ms", "--json").json == []
    both = say("refusals", "--job", charge, "--task", "report", "--json")
    assert both.json == []
    said = say("refusals", "--limit", "1")
    assert len(said.lines) == 2
    assert "--limit shows more" in said.err


def test_they_are_counted_by_task_and_verb_and_a_claim_is_double_run_once(
    say: Say, record: list[str]
) -> None:
    listed = say("refusals", "--json").json
    total = say("refusals", "--count", "--json").json
    assert (total["refusals"], total["claims"], total["jobs"]) == (3, 2, 2)
    by = {(row["task"], row["verb"]): row for row in total["by"]}
    assert sorted(by) == [("charge", "complete"), ("charge", "guard"), ("report", "complete")]
    for row in listed:
        counted = by[row["task"], row["verb"]]
        assert (counted["refusals"], counted["claims"]) == (1, 1)
        assert counted["late_seconds"] == row["late_seconds"]
        assert counted["double_run_seconds"] == row["overlap_seconds"]
    longest = max(row["late_seconds"] for row in listed)
    assert total["late_seconds"] == longest
    # The guard came after the completion, so it has the longer overlap of that claim.
    guard, report = listed[0], listed[1]
    expected = guard["overlap_seconds"] + report["overlap_seconds"]
    assert total["double_run_seconds"] == pytest.approx(expected, abs=1e-5)
    last = say("refusals", "--count", "--task", "charge").lines[-1]
    assert last.startswith("2 refusals of 1 stale claims of 1 jobs; double-run seconds")


def test_without_any_nothing_is_counted(say: Say) -> None:
    total = say("refusals", "--count", "--json").json
    assert (total["refusals"], total["claims"], total["by"]) == (0, 0, [])
    assert total["double_run_seconds"] == 0
    assert say("refusals", "--json").json == []
    assert say("refusals", "--count").lines[-1].startswith("0 refusals")


def test_what_is_no_job_or_no_duration_is_told(say: Say) -> None:
    assert "EMQ105" in say("refusals", "--job", "nonsense").refused(2)
    assert "--since" in say("refusals", "--since", "yesterday").refused(2)
    assert say("refusals", "--job", str(new_id()), "--json").json == []


def test_the_inboxs_retention_is_shown_set_and_reset(say: Say) -> None:
    assert say("settings", "show", "--json").json["inbox_retention"] == 30 * 86400
    changed = say("settings", "set", "inbox_retention=90d", "--json").json
    assert changed["inbox_retention"] == 90 * 86400
    said = say("settings", "set", "inbox_retention=1s").refused(2)
    assert "inbox_retention is 1 hour or more" in said and "EMQ106" in said
    assert say("settings", "set", "inbox_retention=none").lines[2].split() == [
        "inbox_retention", "30d"
    ]  # fmt: skip


def test_tidy_says_that_keys_of_the_inbox_went(say: Say, reader: psycopg.Connection[Any]) -> None:
    reader.execute("select emq.once('k', emq.uuid7(), 1)")
    reader.execute("update emq.inbox set at = at - interval '31 d'")
    said = say("archive", "tidy")
    assert said.lines[0].split() == ["steps", "1"]
    assert said.err == "deleted inbox\n"
