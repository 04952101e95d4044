"""A filter of dead letters chooses what it says, and a slip in it never means all."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from tests.protocol.calls import Ledger, refused
from tests.protocol.letters import REASONS, die, found, old

# Quotes, backslashes and braces: what would end a literal if the text of a filter became SQL.
TEXTS = st.text("ab'\"\\%$1{}[]*?;- \n", min_size=1, max_size=12)


def test_an_empty_filter_chooses_every_letter_newest_first(ledger: Ledger) -> None:
    died = [die(ledger).id for _ in range(3)]
    assert found(ledger) == died[::-1]
    assert found(ledger, limit=2) == [died[2], died[1]]


def test_a_reason_chooses_those_that_died_of_it(ledger: Ledger) -> None:
    died = {each: die(ledger, each.replace(" ", "-"), reason=each).id for each in REASONS}
    for reason in REASONS:
        assert found(ledger, reason=reason) == [died[reason]]
    assert found(ledger, reason=["stalled", "expired"]) == [died["expired"], died["stalled"]]


@pytest.mark.parametrize("is_old", [False, True], ids=["new", "old"])
def test_queue_task_worker_error_and_fingerprint_choose(ledger: Ledger, is_old: bool) -> None:
    """Of old letters nobody remembers the worker."""
    one = die(ledger, "mail", task="send", worker="w1", error="ValueError: no 1")
    two = die(ledger, "files", task="read", worker="w2", error="KeyError: 'a'")
    if is_old:
        old(ledger, one)
        old(ledger, two)
    (fingerprint,) = ledger.column("select fingerprint from emq.dead_list() where id = %s", one.id)
    for chosen in (
        {"queue": "mail"}, {"task": "send"}, {"error": "Error: no"}, {"fingerprint": fingerprint},
        {"ids": [str(one.id)]}, {"ids": str(one.id)}, {"task": "send", "queue": ["mail", "x"]},
    ):  # fmt: skip
        assert found(ledger, **chosen) == [one.id], chosen
    assert found(ledger, task=["send", "read"]) == [two.id, one.id]
    assert found(ledger, task="send", queue="files") == []
    assert found(ledger, queue=[]) == found(ledger, ids=[]) == []
    assert found(ledger, worker="w2") == ([] if is_old else [two.id])


def test_the_instant_of_the_death_chooses(ledger: Ledger) -> None:
    died = [die(ledger).id for _ in range(3)]
    (at,) = ledger.column("select died_at from emq.dead where id = %s", died[1])
    after, before = {"died_after": at.isoformat()}, {"died_before": at.isoformat()}
    assert found(ledger, **after) == [died[2], died[1]]
    assert found(ledger, **before) == [died[0]]
    assert found(ledger, **after, **before) == []
    elsewhere = at.astimezone(tz=None) + timedelta(microseconds=1)
    assert found(ledger, died_before=elsewhere.isoformat()) == [died[1], died[0]]


def test_the_age_by_the_servers_clock_chooses(ledger: Ledger) -> None:
    first = die(ledger).id
    ledger.wait("clock_timestamp() > (select max(died_at) + interval '0.2 s' from emq.dead)")
    assert found(ledger, older_than="0.2 s") == found(ledger, older_than=0.2) == [first]
    assert found(ledger, younger_than="0.2 s") == []
    second = die(ledger).id
    assert found(ledger, older_than="1 h") == []
    assert found(ledger, younger_than="1 h", older_than=0) == [second, first]


def test_counts_choose_what_has_so_many_or_more(ledger: Ledger) -> None:
    ledger.add_one(max_attempts=3)
    ledger.stall()
    for _ in range(2):
        held = ledger.take()
        ledger.retry(held)
    assert ledger.place(held.id) == "dead"
    for name, count in {"min_attempts": 3, "min_stalled": 1, "min_failures": 2}.items():
        assert found(ledger, **{name: count}) == [held.id]
        assert found(ledger, **{name: count + 1}) == []


SLIPS: list[tuple[dict[str, Any], str]] = [
    ({"qeue": "mail"}, "queue, task"),
    ({"queue": None}, "a text"),
    ({"queue": 1}, "a text"),
    ({"queue": ["mail", None]}, "a text"),
    ({"queue": [["mail"]]}, "a text"),
    ({"task": {"a": "b"}}, "a text"),
    ({"reason": "permament"}, "permanent"),
    ({"reason": ["stalled", "x"]}, "stalled"),
    ({"ids": ["1"]}, "ids"),
    ({"ids": [7]}, "ids"),
    ({"error": ""}, "a text"),
    ({"error": ["a"]}, "a text"),
    ({"died_after": "2026-01-31"}, "offset"),
    ({"died_after": "2026-01-31T10:00:00"}, "offset"),
    ({"died_before": "yesterday"}, "offset"),
    ({"died_before": 1769853600}, "offset"),
    ({"died_before": "infinity"}, "offset"),
    ({"older_than": "-1 s"}, "interval"),
    ({"older_than": "soon"}, "interval"),
    ({"younger_than": True}, "interval"),
    ({"younger_than": "9999999 years"}, "interval"),
    ({"min_attempts": 1.5}, "whole number"),
    ({"min_stalled": "1"}, "whole number"),
    ({"min_failures": -1}, "whole number"),
    ({"min_failures": 99999999999}, "whole number"),
    ({"include_permanent": "true"}, "true or false"),
]


def test_a_slip_is_refused_with_what_may_be_said_and_nothing_is_done(ledger: Ledger) -> None:
    die(ledger)
    verbs = (
        "dead_list(%s)", "dead_groups(%s)", "replay_count(%s)", "replay_many(%s)",
        "discard_many(%s, 'x')",
    )  # fmt: skip
    for chosen, hint in SLIPS:
        for verb in verbs:
            with refused("EQ006", hint=hint, names=next(iter(chosen))):
                ledger.rows(f"select * from emq.{verb}", Jsonb(chosen))
    for whole in ("[]", "null", '"queue"', None):
        for verb in verbs:
            with refused("EQ006", hint="queue, task"):
                ledger.rows(f"select * from emq.{verb}", whole)
    assert len(found(ledger)) == 1


@settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(text=TEXTS, name=st.sampled_from(["queue", "task", "fingerprint", "worker", "error"]))
def test_whatever_a_filter_says_is_looked_for_and_never_run(
    ledger: Ledger, text: str, name: str
) -> None:
    """One letter is there; its error holds every text that is looked for."""
    if not ledger.one("select count(*) from emq.dead"):
        die(ledger, error="x")
    ledger.run("update emq.dead set error = %s, worker = %s", f"<{text}>", text)
    chooses = name in ("error", "worker")
    assert len(found(ledger, **{name: text})) == int(chooses)
    if name != "error":
        assert len(found(ledger, **{name: ["x", text]})) == int(chooses)
