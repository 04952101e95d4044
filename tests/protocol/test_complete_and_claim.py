"""complete_and_claim: each as it is alone, in one round trip and one commit."""

from __future__ import annotations

from typing import Any

from tests.protocol.calls import Held, Ledger

CALL = """
select id, attempts, answers from emq.complete_and_claim(
  %s::uuid[], %s::bigint[], null, 'default', %s, 'w', 3)
"""


def call(ledger: Ledger, done: list[tuple[Any, int]], n: int = 5) -> list[tuple[Any, ...]]:
    return ledger.rows(CALL, [id for id, _ in done], [fence for _, fence in done], n)


def pair(held: Held) -> tuple[Any, int]:
    return held.id, held.fence


def test_what_is_done_is_done_and_more_is_claimed(ledger: Ledger) -> None:
    held = ledger.start()
    id = ledger.add_one()
    assert call(ledger, [pair(held)]) == [(id, 1, None)]
    assert ledger.place(held.id) == "completed"


def test_answers_come_as_one_last_row_when_not_all_are_done(ledger: Ledger) -> None:
    ledger.add(2)
    a, b = ledger.claim(2)
    id = ledger.add_one()
    rows = call(ledger, [pair(a), b.stale])
    assert rows == [(id, 1, None), (None, None, ["done", "lost"])]


def test_nothing_to_complete_is_a_claim(ledger: Ledger) -> None:
    id = ledger.add_one()
    assert call(ledger, []) == [(id, 1, None)]


def test_nothing_to_claim_is_a_completion(ledger: Ledger) -> None:
    held = ledger.start()
    assert call(ledger, [pair(held)]) == []
    assert ledger.outcome(held) == "completed"


def test_both_are_undone_together(ledger: Ledger, other: Ledger) -> None:
    held = ledger.start()
    id = ledger.add_one()
    call(other, [pair(held)])
    other.conn.rollback()
    assert ledger.outcome(held) == "yours"
    assert ledger.place(id) == "pending"


def test_the_floors_rise_though_a_completion_takes_an_xid(ledger: Ledger) -> None:
    ledger.add()
    done: list[tuple[Any, int]] = []
    variable = "emq.f" + b"default".hex()

    def risen() -> bool:
        nonlocal done
        rows = ledger.rows(
            "select id, fence from emq.complete_and_claim(%s::uuid[], %s::bigint[], null,"
            " 'default', 10, 'w', 3)", [id for id, _ in done], [fence for _, fence in done],
        )  # fmt: skip
        done = [(id, fence) for id, fence in rows if id]
        ledger.add()
        floors = f"(string_to_array(current_setting('{variable}'), ':')::bigint[])"
        return bool(ledger.one(f"select {floors}[2] > 20 and {floors}[10] > 10"))

    ledger.until(risen, "the settled mark and the floor of the usual rank rise")
