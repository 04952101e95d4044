"""Dead letters as people see them: listed, grouped by what they died of, one of them whole."""

from __future__ import annotations

from typing import Any

from psycopg.types.json import Jsonb

from tests.protocol.calls import Ledger
from tests.protocol.letters import die, found, old, replay


def groups(ledger: Ledger, **chosen: Any) -> list[tuple[Any, ...]]:
    """Task, reason, headline, count, how many a replay would take, queues and the example."""
    return ledger.rows(
        "select task, reason, headline, letters, replayable, queues, example"
        " from emq.dead_groups(%s)", Jsonb(chosen),
    )  # fmt: skip


def test_letters_that_died_of_the_same_are_one_group_the_largest_first(ledger: Ledger) -> None:
    die(ledger, task="send", error="KeyError: 'a'")
    lost = die(ledger, task="send", reason="stalled")
    die(ledger, "mail", task="send", error="ValueError: no order 17")
    permanent = die(ledger, task="send", reason="permanent", error="ValueError: no order 3")
    newest = die(ledger, task="send", error="ValueError: no order 18")
    other = die(ledger, task="read", error="KeyError: 'b'")
    last = die(ledger, task="send", error="KeyError: 'cc'")
    value = "ValueError: no order"
    assert groups(ledger) == [
        ("send", "exception", "KeyError: 'cc'", 2, 2, ["default"], last.id),
        ("send", "exception", f"{value} 18", 2, 2, ["default", "mail"], newest.id),
        ("read", "exception", "KeyError: 'b'", 1, 1, ["default"], other.id),
        ("send", "permanent", f"{value} 3", 1, 0, ["default"], permanent.id),
        ("send", "stalled", None, 1, 1, ["default"], lost.id),
    ]
    assert [row[3] for row in groups(ledger, queue="mail")] == [1]


def test_a_group_says_since_when_and_until_when_they_died(ledger: Ledger) -> None:
    for _ in range(3):
        die(ledger)
    (group,) = ledger.rows("select first_died_at, last_died_at from emq.dead_groups()")
    assert group == ledger.row("select min(died_at), max(died_at) from emq.dead")


def test_the_fingerprint_of_a_group_chooses_its_letters(ledger: Ledger) -> None:
    wanted = [die(ledger, error=f"ValueError: {n}").id for n in range(3)]
    die(ledger, error="KeyError: 1")
    (fingerprint,) = ledger.column("select fingerprint from emq.dead_groups() where letters = 3")
    assert found(ledger, fingerprint=fingerprint) == wanted[::-1]


def test_old_letters_stand_in_the_groups_of_new_ones(ledger: Ledger) -> None:
    new = die(ledger, task="send", error="ValueError: order 1")
    older = die(ledger, task="send", error="ValueError: order 2")
    old(ledger, older)
    ((task, reason, headline, letters, *_),) = groups(ledger)
    assert (task, reason, headline, letters) == ("send", "exception", "ValueError: order 2", 2)
    rows = ledger.rows("select id, task, fingerprint is not null, worker from emq.dead_list()")
    assert rows == [(older.id, "send", True, None), (new.id, "send", True, "w1")]


def test_the_list_says_what_a_replay_would_do_with_each(ledger: Ledger) -> None:
    ledger.set_queue("never", replay_within="0")
    ledger.set_queue("brief", replay_within="1 us")
    for queue, reason in (
        ("never", "permanent"),
        ("brief", "expired"),
        ("q", "permanent"),
        ("q", "timeout"),
    ):
        die(ledger, queue, reason=reason)
    verdicts = "select verdict from emq.dead_list(%s)"
    assert ledger.column(verdicts, "{}") == ["replay", "permanent", "too old", "never"]
    assert ledger.column(verdicts, '{"include_permanent": true}') == [
        "replay", "replay", "too old", "never",
    ]  # fmt: skip


def test_pages_follow_one_another_without_a_gap(ledger: Ledger) -> None:
    for _ in range(5):
        die(ledger)
    seen: list[Any] = []
    after = None
    while rows := ledger.rows("select id, died_at from emq.dead_list('{}', 2, %s)", after):
        seen += [id for id, _ in rows]
        id, died_at = rows[-1]
        after = Jsonb({"id": str(id), "died_at": died_at.isoformat()})
    assert seen == found(ledger)


def test_one_letter_has_its_error_whole_and_says_how_often_it_was_replayed(ledger: Ledger) -> None:
    error = 'Traceback (most recent call last):\n  File "x", line 1\nValueError: no\nmore'
    held = die(ledger, "mail", task="send", error=error, reason="permanent")
    for n in range(2):
        letter = ledger.row(
            "select queue, task, reason, worker, attempts, stalled, failures, replays, verdict,"
            " headline, error from emq.dead_letter(%s)", held.id,
        )  # fmt: skip
        assert letter == (
            "mail", "send", "permanent", "w1", n + 1, 0, 1, n, "replay", "ValueError: no", error,
        )  # fmt: skip
        assert replay(ledger, include_permanent=True).replayed == 1
        assert ledger.rows("select * from emq.dead_letter(%s)", held.id) == []
        ledger.fail(ledger.take("mail"), reason="permanent", error=error)
    ledger.set_queue("mail", replay_within="0")
    assert ledger.column("select verdict from emq.dead_letter(%s)", held.id) == ["never"]
