"""EMQ.dead_letters: what an application does with its dead letters."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from emq_sql import EMQ
from emq_sql.errors import BadInput
from emq_sql.minting import new_id
from tests.plugins.databases import Database
from tests.plugins.parked import Parked
from tests.protocol.calls import Ledger
from tests.protocol.letters import die, found


@pytest.fixture
def ledger(db: Database) -> Ledger:
    return Ledger(db.connect())


def test_letters_are_found_page_by_page_grouped_and_got_whole(emq: EMQ, ledger: Ledger) -> None:
    letters = emq.dead_letters
    died = [die(ledger, task="send", error=f"ValueError: {n}").id for n in range(3)]
    first = letters.find(2, task="send")
    rest = letters.find(2, after=first[-1], task=["send"], younger_than=timedelta(hours=1))
    assert [row["id"] for row in [*first, *rest]] == died[::-1]
    assert letters.find(died_before=datetime(2020, 1, 1, tzinfo=UTC)) == []
    (group,) = letters.groups(reason="exception")
    assert (group["letters"], group["headline"]) == (3, "ValueError: 2")
    whole = letters.get(str(died[0]))
    assert whole is not None and whole["error"] == "ValueError: 0"
    assert letters.get(new_id()) is None


def test_one_is_replayed_or_discarded_by_its_id(emq: EMQ, ledger: Ledger, parked: Parked) -> None:
    letters = emq.dead_letters
    ledger.set_queue("mail", replay_within="0")
    one, two = die(ledger, "mail").id, die(ledger).id
    assert letters.replay(one) == "never"
    assert letters.replay(one, force=True, label="by hand") == "done"
    assert parked.heard() == ["mail"]
    assert letters.replay(one) == letters.discard(one, "x") == "lost"
    assert letters.discard(two, "no customer") == "done"
    labels = "select label from emq.audit where id = any (%s) order by at"
    assert ledger.column(labels, [one, two]) == ["by hand", "no customer"]


def test_many_are_replayed_each_once_and_those_who_wait_are_told(
    emq: EMQ, ledger: Ledger, parked: Parked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emq_sql.dead_letters.CHUNK", 2)
    ledger.set_queue("never", replay_within="0")
    for n in range(5):
        die(ledger, ("default", "mail", "never")[n % 3], reason="timeout" if n < 4 else "permanent")
    done = emq.dead_letters.replay_many(everything=True, label="fixed")
    assert (done.replayed, done.permanent, done.never, done.too_old) == (3, 1, 1, 0)
    assert done.queues == ["default", "mail"] and done.next is None
    assert set(parked.heard()) == {"default", "mail"}
    assert emq.dead_letters.replay_many(include_permanent=True, queue="mail").replayed == 1
    gone = emq.dead_letters.discard_many("old", queue=["never"])
    assert (gone.discarded, gone.busy, found(ledger)) == (1, 0, [])


def test_without_a_bell_nobody_is_told(db: Database, ledger: Ledger, parked: Parked) -> None:
    emq = EMQ(db.dsn, bell=False)
    die(ledger, "mail")
    assert emq.dead_letters.replay_many(queue="mail").replayed == 1
    assert parked.heard() == []
    emq.engine.dispose()


def test_a_slip_is_refused_before_anything_is_done(emq: EMQ, ledger: Ledger) -> None:
    letters: Any = emq.dead_letters
    died = die(ledger).id
    for call in (
        letters.replay_many,
        lambda: letters.replay_many(include_permanent=True),
        lambda: letters.replay_many(queue=None),
        lambda: letters.replay_many(qeue="mail"),
        lambda: letters.discard_many("why"),
        lambda: letters.discard_many("", everything=True),
        lambda: letters.discard_many(None, queue="default"),
        lambda: letters.discard(died, " "),
        lambda: letters.find(died_after=datetime(2026, 1, 1)),
    ):
        with pytest.raises(BadInput):
            call()
    assert found(ledger) == [died]
