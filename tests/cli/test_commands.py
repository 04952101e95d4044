"""Each command as an operator runs it: aligned for people, JSON for programs."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable
from typing import Any
from uuid import UUID

import psycopg
import pytest

from emq_sql.minting import new_id
from tests.cli.conftest import COMMAND, PATIENCE, ROOT, Emq, Holder, until_expired
from tests.plugins.parked import Parked

Hold = Callable[..., Holder]


def enqueue(emq: Emq, *words: str) -> str:
    return str(emq("enqueue", *words, "--json").json["id"])


def test_enqueue_adds_a_job_with_what_was_said(emq: Emq, reader: psycopg.Connection[Any]) -> None:
    told = emq(
        "enqueue", "mail.send", '{"to": "Zoë", "n": 1e2, "*": [true]}', "--queue", "mail",
        "--priority", "0", "--max-attempts", "7", "--lease", "1.5", "--json",
    ).json  # fmt: skip
    assert told["status"] == "enqueued"
    row = reader.execute(
        "select id, queue, task, payload, priority, max_attempts, lease_ms from emq.job"
    ).fetchall()
    payload = {"to": "Zoë", "n": 100, "*": [True]}
    assert row == [(UUID(told["id"]), "mail", "mail.send", payload, 0, 7, 1500)]


def test_enqueue_tells_people_the_id_and_the_status(emq: Emq) -> None:
    wanted = str(new_id())
    first = emq("enqueue", "tidy", "--job-id", wanted).lines
    assert first == [f"id      {wanted}", "status  enqueued"]
    assert emq("enqueue", "tidy", "--job-id", wanted).lines[1] == "status  duplicate"
    assert emq("enqueue", "tidy", "--delay", "60").lines[1] == "status  scheduled"


@pytest.mark.parametrize(
    "words",
    [
        ["tidy", "{"],
        ["tidy", "[1]"],
        ["tidy", '{"a": NaN}'],
        ["tidy", '{"a": "\\ud800"}'],
        ["tidy", "[" * 100_000],
        ["tidy", '{"a": %s}' % ("9" * 10_000)],
        [" tidy"],
        ["tidy", "--queue", "Mail"],
        ["tidy", "--priority", "9"],
        ["tidy", "--delay", "nan"],
        ["tidy", "--lease", "inf"],
        ["tidy", "--max-attempts", "0"],
        ["tidy", "--job-id", "0fffffff-ffff-7000-8000-000000000000"],
        ["tidy", "--schema", "No"],
    ],
    ids=lambda words: " ".join(words)[:30],
)
def test_bad_input_is_one_sentence_and_adds_nothing(
    emq: Emq, reader: psycopg.Connection[Any], words: list[str]
) -> None:
    assert re.search(r"\[EMQ10\d\]$", emq("enqueue", *words).refused(2).strip())
    assert reader.execute("select count(*) from emq.job").fetchone() == (0,)


def test_ledger_lists_who_holds_what(emq: Emq, hold: Hold) -> None:
    assert emq("ledger", "--json").json == []
    assert len(emq("ledger").lines) == 1
    ids = {enqueue(emq, "mail.send", "--queue", "mail"), enqueue(emq, "tidy")}
    held = {*hold(queue="mail").ids, *hold().ids}
    assert held == ids
    rows = emq("ledger", "--json").json
    assert {row["id"] for row in rows} == ids
    assert {row["worker"] for row in rows} == {"holder-1"}
    assert all(row["attempts"] == 1 and 0 < row["seconds_left"] <= 60 for row in rows)
    (row,) = emq("ledger", "--queue", "mail", "--json").json
    assert row["task"] == "mail.send"
    title, line = emq("ledger", "--queue", "mail").lines
    assert title.split()[:4] == ["job", "queue", "task", "held"]
    assert line.split()[:4] == [row["id"], "mail", "mail.send", "holder-1"]
    assert line.index("mail.send") == title.index("task")


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_watch_ends_in_order_when_it_is_interrupted(emq: Emq, more: list[str]) -> None:
    process = subprocess.Popen(
        [*COMMAND, "ledger", "--watch", "--every", "0.05", *more],
        cwd=ROOT, env=emq.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    for _ in range(3):  # it runs, and looks again
        assert process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")


def test_a_reader_that_has_seen_enough_is_no_error(emq: Emq) -> None:
    process = subprocess.Popen(
        [*COMMAND, "ledger", "--watch", "--every", "0.01"],
        cwd=ROOT, env=emq.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline()
    process.stdout.close()
    process.wait(PATIENCE)
    assert process.stderr.read() == ""
    process.stderr.close()


def test_queues_counts_what_waits_runs_and_died(emq: Emq, hold: Hold) -> None:
    assert emq("queues", "--json").json == []
    for words in (["a"], ["b"], ["c", "--delay", "60"]):
        enqueue(emq, *words, "--queue", "mail")
    hold(queue="mail")
    (row,) = emq("queues", "--json").json
    counts = {name: row[name] for name in ("pending", "scheduled", "active", "expired", "dead")}
    assert counts == {"pending": 1, "scheduled": 1, "active": 1, "expired": 0, "dead": 0}
    assert (row["queue"], row["paused"]) == ("mail", False)
    title, line = emq("queues").lines
    assert title.split() == [
        "queue", "paused", "pending", "scheduled", "active", "expired", "dead", "oldest", "s",
    ]  # fmt: skip
    assert line.split()[:7] == ["mail", "no", "1", "1", "1", "0", "0"]


def test_job_tells_where_it_is_and_its_whole_story(
    emq: Emq, hold: Hold, reader: psycopg.Connection[Any]
) -> None:
    wanted = enqueue(emq, "mail.send", '{"secret": 42}')
    holder = hold(lease=0.2)
    holder.kill()
    until_expired(reader, 1)
    emq("reap").lines  # noqa: B018 - must go well
    hold()
    told = emq("job", wanted, "--json").json
    assert (told["id"], told["place"], told["attempts"], told["stalled"]) == (
        wanted,
        "active",
        2,
        1,
    )
    assert [step["event"] for step in told["story"]] == [
        "enqueued", "claimed", "stalled", "claimed",
    ]  # fmt: skip
    assert "envelope" not in told
    whole = emq("job", wanted, "--payload", "--json").json
    assert whole["envelope"]["payload"] == {"secret": 42}
    plain = emq("job", wanted)
    assert f"id           {wanted}" in plain.lines
    assert "secret" not in plain.out
    assert '{"secret": 42}' in emq("job", wanted, "--payload").out
    events = [line.split()[2:4] for line in plain.lines if "holder-1" in line]
    assert len(events) >= 3


def test_a_job_that_is_not_known_is_said_so(emq: Emq) -> None:
    assert "No job" in emq("job", str(new_id())).refused(2)
    assert "not a UUID" in emq("job", "42").refused(2)
    assert emq("job").misused()


def test_reap_takes_back_every_expired_lease_pass_by_pass(
    emq: Emq, hold: Hold, reader: psycopg.Connection[Any]
) -> None:
    none = {"recovered": 0, "dead": 0, "skipped": 0}
    assert emq("reap", "--json").json == none
    for _ in range(5):
        enqueue(emq, "tidy")
    enqueue(emq, "last", "--max-attempts", "1")
    hold(6, lease=0.2).kill()
    until_expired(reader, 6)
    assert emq("reap", "--limit", "2", "--json").json == {"recovered": 5, "dead": 1, "skipped": 0}
    assert emq("reap").lines == ["recovered  0", "dead       0", "skipped    0"]
    (row,) = emq("queues", "--json").json
    assert (row["pending"], row["dead"], row["active"]) == (5, 1, 0)


@pytest.mark.parametrize("limit", ["0", "-5", "x"])
def test_a_limit_that_would_never_end_is_refused(emq: Emq, limit: str) -> None:
    assert "--limit" in emq("reap", "--limit", limit).misused()


def test_pause_and_resume_a_queue_and_leave_a_trace(
    emq: Emq, hold: Hold, reader: psycopg.Connection[Any]
) -> None:
    enqueue(emq, "tidy", "--queue", "mail")
    told = emq("pause", "mail", "--label", "deploy 7", "--json").json
    assert told == {"queue": "mail", "paused": True}
    assert hold(queue="mail").ids == []
    (row,) = emq("queues", "--json").json
    assert row["paused"] is True
    assert emq("resume", "mail").lines == ["queue   mail", "paused  no"]
    assert len(hold(queue="mail").ids) == 1
    trace = reader.execute("select verb, queue, label from emq.audit order by at").fetchall()
    assert trace == [("pause", "mail", "deploy 7"), ("resume", "mail", None)]
    assert "Queue name" in emq("pause", "Ma il").refused(2)
    assert emq("resume").misused()


def test_who_waits_hears_of_what_was_added_or_resumed(emq: Emq, parked: Parked) -> None:
    assert emq("enqueue", "send", "--delay", "60").code == 0
    assert parked.heard() == []
    assert emq("enqueue", "send").code == 0
    assert parked.heard() == ["default"]
    assert emq("pause", "mail").code == emq("resume", "mail").code == 0
    assert parked.heard() == ["mail"]


def test_everything_is_told_of_another_schema_too(emq: Emq) -> None:
    assert emq("schema", "upgrade", "--schema", "jobs").code == 0
    told = emq("enqueue", "tidy", "--schema", "jobs", "--json").json
    assert emq("job", told["id"], EMQ_SCHEMA="jobs").code == 0
    assert emq("queues", "--json").json == []
    assert len(emq("queues", "--schema", "jobs", "--json").json) == 1


def test_a_terminal_that_lacks_letters_is_no_error(emq: Emq) -> None:
    told = emq("enqueue", "任务", '{"to": "Zoë"}', "--json", LC_ALL="C").json
    whole = ["job", told["id"], "--payload"]
    assert '{"to": "Zoë"}' in emq(*whole, LC_ALL="C").out
    spelt = emq(*whole, PYTHONIOENCODING="iso-8859-1", LC_ALL="C")
    assert any(line.endswith(r"\u4efb\u52a1") for line in spelt.lines)
    assert emq(*whole, "--json", PYTHONIOENCODING="iso-8859-1").json["task"] == "任务"


def test_what_a_terminal_would_obey_is_spelt_out(emq: Emq, reader: psycopg.Connection[Any]) -> None:
    """A worker's name, an error and a task are anybody's text."""
    told = emq("enqueue", "tidy", '{"a": "\\u202e\\u009b2J"}', "--json").json
    reader.execute("select * from emq.claim('default', 1, E'w\\x1b[2J\\nx', 1)")
    assert r"w\x1b[2J\nx" in emq("ledger").out
    reader.execute(
        "select emq.retry(array[id], array[fence], null, array[E'one\\x1b]0;t\\x07\\ntwo'])"
        " from emq.active"
    )
    whole = emq("job", told["id"], "--payload")
    assert r"\u202e\x9b2J" in whole.out
    *_, first, second = whole.lines
    assert first.endswith(r"one\x1b]0;t\x07")
    assert second == " " * first.index("one") + "two"
    letters = whole.out + emq("reap", "--schema", "\x1b[2J").err
    assert all(letter.isprintable() or letter == "\n" for letter in letters)
