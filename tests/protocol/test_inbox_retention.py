"""The inbox forgets keys that are older than its retention, a bounded step at a time."""

from __future__ import annotations

import pytest
from psycopg.types.json import Jsonb

from tests.plans.plans import watching
from tests.protocol.calls import Ledger, refused
from tests.protocol.history import audited, ledger_keeps, tidied, tidy

KEYS = "select key from emq.inbox order by key"


def once(ledger: Ledger, key: str) -> bool:
    """Whether a job of its own is the first with this key."""
    held = ledger.start()
    first: bool = ledger.one("select emq.once(%s, %s, %s)", key, held.id, held.fence)
    assert ledger.complete(held) == ["done"]
    return first


def age(ledger: Ledger, age: str, *keys: str) -> None:
    ledger.run("update emq.inbox set at = at - %s::interval where key = any (%s)", age, list(keys))


def test_old_keys_go_in_bounded_steps_and_younger_ones_stay(ledger: Ledger) -> None:
    old = [f"old{n:02}" for n in range(25)]
    for key in (*old, "young", "new"):
        assert once(ledger, key)
    age(ledger, "31 days", *old)
    age(ledger, "29 days", "young")
    assert tidied(ledger, limit=10) == [("deleted", "inbox", None)] * 3
    assert ledger.column(KEYS) == ["new", "young"]


def test_the_oldest_go_first(ledger: Ledger) -> None:
    for days, key in ((40, "b"), (60, "c"), (50, "a")):
        once(ledger, key)
        age(ledger, f"{days} days", key)
    assert tidy(ledger, 2) == ("deleted", "inbox", None)
    assert ledger.column(KEYS) == ["b"]


def test_while_a_key_is_kept_its_effect_is_not_had_again_and_then_it_may_be(
    ledger: Ledger,
) -> None:
    assert once(ledger, "k")
    age(ledger, "29 days", "k")
    assert tidied(ledger) == []
    assert not once(ledger, "k")
    age(ledger, "2 days", "k")
    tidied(ledger)
    assert once(ledger, "k")


def test_its_retention_is_a_setting_of_the_ledger(ledger: Ledger) -> None:
    once(ledger, "k")
    age(ledger, "2 hours", "k")
    ledger_keeps(ledger, inbox_retention="3 hours")
    assert tidied(ledger) == []
    ledger_keeps(ledger, inbox_retention="1 hour")
    assert tidied(ledger) == [("deleted", "inbox", None)]
    ledger.rows("select emq.set_ledger(%s)", Jsonb({"inbox_retention": None}))
    assert ledger.one("select inbox_retention::text from emq.meta") == "30 days"
    given = [{"inbox_retention": word} for word in ("3 hours", "1 hour", None)]
    assert audited(ledger, "configure") == given


def test_other_settings_leave_it_alone(ledger: Ledger) -> None:
    ledger_keeps(ledger, inbox_retention="90 days")
    ledger_keeps(ledger, retention="7 days")
    assert ledger.row("select inbox_retention::text, retention::text from emq.meta") == (
        "90 days", "7 days"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("59 min", "inbox_retention is 1 hour or more"),
        ("-1 day", "inbox_retention is 1 hour or more"),
        ("soon", "invalid input syntax for type interval"),
    ],
)
def test_a_retention_that_cannot_be_is_refused_in_words(
    ledger: Ledger, given: str, said: str
) -> None:
    with refused("EQ006", names=said, hint="inbox_retention"):
        ledger_keeps(ledger, inbox_retention=given)
    assert ledger.one("select inbox_retention::text from emq.meta") == "30 days"


def test_a_retention_for_ever_keeps_everything(ledger: Ledger) -> None:
    once(ledger, "k")
    age(ledger, "1000 years", "k")
    ledger_keeps(ledger, inbox_retention="100000 years")
    assert tidied(ledger) == []
    assert ledger.column(KEYS) == ["k"]


def test_an_open_transaction_with_a_key_keeps_no_step_waiting(
    ledger: Ledger, other: Ledger
) -> None:
    once(ledger, "old")
    age(ledger, "31 days", "old")
    held = ledger.start()
    other.rows("select emq.once('open', %s, %s)", held.id, held.fence)
    assert tidy(ledger) == ("deleted", "inbox", None)
    other.conn.commit()
    assert ledger.column(KEYS) == ["open"]


def test_a_step_walks_the_index_of_instants_and_no_key_that_stays(ledger: Ledger) -> None:
    ledger.run(
        "insert into emq.inbox (key, at, id, fence)"
        " select 'k' || n, now() - n * interval '1 min', emq.uuid7(), 1"
        " from generate_series(1, 20000) n"
    )
    age(ledger, "31 days", "k7")
    ledger.run("vacuum analyze emq.inbox")
    with watching(ledger) as watch:
        assert tidy(ledger) == ("deleted", "inbox", None)
    scans = [
        (node["Node Type"], node.get("Index Name"))
        for _, node in watch.scans({"inbox"})
        if node.get("Relation Name") == "inbox"
    ]
    assert sorted(set(scans)) == [("Index Scan", "inbox_at_idx"), ("Tid Scan", None)]
    pages = [n["Shared Hit Blocks"] + n["Shared Read Blocks"] for _, n in watch.scans({"inbox"})]
    assert max(pages) < 20
    assert ledger.one("select count(*) from emq.inbox") == 19999
