"""emq replay and emq discard: dead letters go back or are given up, and what stays is told."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import time
from typing import Any

import psycopg
import pytest

from emq_sql.minting import new_id
from tests.cli.conftest import COMMAND, PATIENCE, ROOT, Emq
from tests.plugins.databases import Database
from tests.plugins.parked import Parked
from tests.protocol.calls import Ledger
from tests.protocol.letters import die, found

NONE = {"permanent": 0, "never": 0, "too_old": 0}


@pytest.fixture
def ledger(db: Database) -> Ledger:
    return Ledger(db.connect())


def test_replaying_all_leaves_permanent_failures_and_says_so(emq: Emq, ledger: Ledger) -> None:
    for n in range(10):
        die(ledger, f"q{n}", reason="permanent" if n < 3 else "exception")
    counted = emq("replay", "--all", "--dry-run")
    assert counted.lines == ["replay     7", "permanent  3", "never      0", "too_old    0"]
    assert len(found(ledger)) == 10
    done = emq("replay", "--all", "--chunk", "4", "--label", "fixed")
    assert done.lines[:2] == ["replayed   7", "permanent  3"]
    assert "3 failed for good" in done.err and "--include-permanent" in done.err
    assert ledger.column("select label from emq.audit") == ["fixed"] * 7
    again = emq("replay", "--all", "--include-permanent", "--json").json
    assert again == {"replayed": 3, **NONE, "busy": 0, "stopped": False}


def test_a_filter_chooses_and_the_policy_of_the_queue_holds(emq: Emq, ledger: Ledger) -> None:
    ledger.set_queue("once", replay_within="0")
    once = die(ledger, "once", error="KeyError: 1")
    die(ledger, "mail", error="KeyError: 2")
    die(ledger, error="ValueError: 3")
    counted = emq("replay", "--error", "KeyError", "--dry-run", "--json").json
    assert counted == {"replay": 1, **NONE, "never": 1}
    done = emq("replay", "--error", "KeyError")
    assert done.lines[0] == "replayed   1"
    assert "never replays" in done.err
    assert len(found(ledger)) == 2
    named = emq("replay", str(once.id), "--dry-run", "--json")
    assert (named.code, json.loads(named.out)[0]["answer"]) == (1, "never")
    assert emq("replay", str(once.id), "--force", "--json").json == [
        {"id": str(once.id), "answer": "done"}
    ]


def test_ids_are_answered_one_by_one(emq: Emq, ledger: Ledger) -> None:
    one, two = (die(ledger, reason="permanent") for _ in range(2))
    unknown = str(new_id())
    said = emq("replay", str(one.id), unknown, str(two.id))
    assert said.code == 1
    assert [line.split()[1] for line in said.out.splitlines()[1:]] == ["done", "lost", "done"]
    assert [line.split() for line in emq("queues").lines][1][2] == "2"


def test_nobody_replays_or_discards_everything_by_leaving_something_out(
    emq: Emq, ledger: Ledger
) -> None:
    died = die(ledger)
    for words in (
        ["replay", "--include-permanent"], ["replay", str(died.id), "--all"],
        ["discard", "--reason", "old"],
    ):  # fmt: skip
        assert emq(*words).misused()
    assert "reason" in emq("discard", "--all", "--reason", " ").refused(2)
    assert "rate" in emq("replay", "--all", "--rate", "0/s").refused(2)
    assert len(found(ledger)) == 1


def test_discarded_letters_are_given_up_for_a_reason(emq: Emq, ledger: Ledger) -> None:
    gone = [die(ledger, reason="permanent").id for _ in range(2)]
    named, stays = die(ledger), die(ledger)
    assert emq("discard", "--died-of", "permanent", "--dry-run").lines == ["discard  2"]
    assert len(found(ledger)) == 4
    words = ["--died-of", "permanent", "--reason", "customer left", "--json"]
    told = emq("discard", *words).json
    assert told == {"discarded": 2, "busy": 0, "stopped": False}
    unknown = str(new_id())
    said = emq("discard", str(named.id), unknown, "--reason", "typo", "--json")
    assert said.code == 1
    assert [row["answer"] for row in json.loads(said.out)] == ["done", "lost"]
    assert [ledger.place(id) for id in [*gone, named.id]] == ["discarded"] * 3
    assert found(ledger) == [stays.id]
    labels = ledger.column("select label from emq.audit order by at")
    assert labels == ["customer left"] * 2 + ["typo"]


def test_who_waits_is_woken_after_a_replay(emq: Emq, ledger: Ledger, parked: Parked) -> None:
    one, two = die(ledger, "mail"), die(ledger)
    die(ledger, "other")
    assert emq("replay", str(one.id)).code == 0
    assert parked.heard() == ["mail"]
    assert emq("replay", "--queue", "default", "--queue", "other").code == 0
    assert parked.heard() == ["default"]
    assert ledger.place(two.id) == "pending"


def until_replayed(reader: psycopg.Connection[Any], count: int) -> None:
    """Wait until so many are back in the line."""
    deadline = time.monotonic() + PATIENCE
    query = "select count(*) >= %s from emq.pending"
    while reader.execute(query, [count]).fetchone() != (True,):
        assert time.monotonic() < deadline, f"not {count} were replayed"
        time.sleep(0.01)


def test_ctrl_c_ends_a_replay_between_two_chunks_and_it_can_go_on(
    emq: Emq, ledger: Ledger, reader: psycopg.Connection[Any]
) -> None:
    """At a pace that would take an hour; rich draws a bar for whoever has a terminal."""
    for n in range(5):
        die(ledger, f"q{n}")
    terminal, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "replay", "--all", "--rate", "5/h", "--json"],
        cwd=ROOT, env=emq.env(TERM="xterm"), stdout=subprocess.PIPE, stderr=theirs, text=True,
    )  # fmt: skip
    os.close(theirs)
    until_replayed(reader, 1)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    told = json.loads(out)
    assert told["stopped"] is True
    assert 1 <= told["replayed"] < 5
    shown = os.read(terminal, 100_000).decode()
    os.close(terminal)
    assert f"replayed {told['replayed']} of 5; call it again to go on" in shown
    assert "replayed" in shown.partition("Stopped")[0]  # the bar
    assert len(found(ledger)) == 5 - told["replayed"]
    rest = emq("replay", "--all", "--rate", "1000/s", "--json").json
    assert rest["replayed"] == 5 - told["replayed"]
    assert found(ledger) == []


def test_a_replay_whose_connection_is_lost_says_how_far_it_came(
    emq: Emq, ledger: Ledger, reader: psycopg.Connection[Any]
) -> None:
    for n in range(4):
        die(ledger, f"q{n}")
    process = subprocess.Popen(
        [*COMMAND, "replay", "--all", "--rate", "2/s"],
        cwd=ROOT, env=emq.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until_replayed(reader, 2)
    reader.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where application_name = 'emq_sql' and datname = current_database()"
    )
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (1, "")
    assert "replayed 2 of 4 before this:\nemq: " in err
    assert len(found(ledger)) == 2
    assert emq("replay", "--all", "--json").json["replayed"] == 2
