"""emq dead: what the person with the pager looks at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg

from emq_sql.minting import new_id
from tests.cli.conftest import Emq, Holder, until_expired
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger
from tests.protocol.letters import die, replay

TRACEBACK = "Traceback (most recent call last):\n  File \"x.py\", line 1\nKeyError: 'a'\n"


def test_dead_letters_are_listed_newest_first_and_chosen_by_options(emq: Emq, db: Database) -> None:
    ledger = Ledger(db.connect())
    first = die(ledger, "mail", task="send", error=TRACEBACK)
    second = die(ledger, task="tidy", reason="permanent", error="gone", worker="w2")
    title, *lines = emq("dead").lines
    assert title.split()[:3] == ["job", "died", "at"]
    assert [line.split()[0] for line in lines] == [str(second.id), str(first.id)]
    assert lines[0].split()[-3:] == ["w2", "permanent", "gone"]
    assert lines[1].split()[-4:] == ["w1", "yes", "KeyError:", "'a'"]
    (row,) = emq("dead", "list", "--queue", "mail", "--older-than", "0s", "--json").json
    assert (row["id"], row["headline"], row["verdict"]) == (
        str(first.id),
        "KeyError: 'a'",
        "replay",
    )
    limited = emq("dead", "--reason", "permanent", "--reason", "exception", "--limit", "1")
    assert len(limited.lines) == 2
    assert "newest 1" in limited.err


def test_dead_letters_are_grouped_by_what_they_died_of(emq: Emq, db: Database) -> None:
    ledger = Ledger(db.connect())
    for n in range(3):
        die(ledger, task="send", error=f"ValueError: order {n} is gone")
    die(ledger, task="send", error="KeyError: 1")
    title, first, second = emq("dead", "group").lines
    assert title.split()[:3] == ["letters", "to", "replay"]
    assert first.split()[:4] == ["3", "3", "send", "exception"]
    assert first.endswith("ValueError: order 2 is gone")
    fingerprint = first.split()[4]
    assert len(emq("dead", "--fingerprint", fingerprint, "--json").json) == 3
    (row,) = emq("dead", "group", "--error", "KeyError", "--json").json
    assert (row["letters"], row["queues"]) == (1, ["default"])
    assert second.split()[4] == row["fingerprint"]


def test_one_letter_is_shown_with_its_error_its_arguments_and_all_its_attempts(
    emq: Emq, db: Database, hold: Callable[..., Holder], reader: psycopg.Connection[Any]
) -> None:
    """It was lost with a process that was killed, failed for good, was replayed, and failed."""
    ledger = Ledger(db.connect())
    wanted = ledger.add_one(payload='{"order": 42}', task="send", max_attempts=9)
    hold(lease=0.2).kill()
    until_expired(reader, 1)
    ledger.reap()
    ledger.fail(ledger.take(), reason="permanent", error="first \x1b[2J try")
    replay(ledger, include_permanent=True)
    ledger.fail(ledger.take(worker="w9"), reason="permanent", error=TRACEBACK)
    told = emq("dead", "show", str(wanted), "--json").json
    assert (told["replays"], told["attempts"], told["worker"]) == (1, 3, "w9")
    assert told["error"] == TRACEBACK
    assert told["envelope"]["payload"] == {"order": 42}
    events = [step["event"] for step in told["story"]]
    assert events[0] == "enqueued" and events[-1] == "dead"
    assert events.count("claimed") == 3 and {"stalled", "failed"} < set(events)
    plain = emq("dead", "show", str(wanted)).out
    for part in (TRACEBACK, '{"order": 42}', "w9", "holder-1", r"first \x1b[2J try"):
        assert part in plain
    assert "\x1b" not in plain


def test_what_is_no_dead_letter_is_said_so(emq: Emq) -> None:
    assert "No dead letter" in emq("dead", "show", str(new_id())).refused(2)
    assert "time zone" in emq("dead", "--died-before", "2026-01-31T10:00").refused(2)
    assert emq("dead", "--reason", "boredom").misused()
