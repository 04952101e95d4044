"""replay_one: an operator who names a job is heeded, and the queue's word holds unless forced."""

from __future__ import annotations

from tests.protocol.calls import Ledger
from tests.protocol.letters import die, found, line


def replay(ledger: Ledger, id: object, *, force: bool | None = False, label: str = "x") -> str:
    answer: str = ledger.one("select emq.replay_one(%s, %s, %s)", id, force, label)
    return answer


def test_one_that_is_named_goes_back_whatever_it_died_of(ledger: Ledger) -> None:
    for reason in ("permanent", "expired", "exception"):
        died = die(ledger, reason, reason=reason)
        assert replay(ledger, died.id) == "done"
        assert replay(ledger, died.id) == "lost"
        assert line(ledger, reason) == [died.id]


def test_a_queue_that_never_replays_is_overridden_by_force_alone(ledger: Ledger) -> None:
    ledger.set_queue(replay_within="0")
    died = die(ledger)
    for _ in range(2):
        assert replay(ledger, died.id) == replay(ledger, died.id, force=None) == "never"
        assert ledger.operate("replay", died.id) == "never"
    assert found(ledger) == [died.id]
    assert replay(ledger, died.id, force=True) == "done"
    (detail,) = ledger.column("select detail from emq.audit where verb = 'replay'")
    assert detail == {"reason": "exception", "stalled": 0, "failures": 1, "forced": "never"}
    assert line(ledger) == [died.id]


def test_one_that_is_too_old_for_its_queue_needs_force(ledger: Ledger) -> None:
    ledger.set_queue(replay_within="1 us")
    died = die(ledger)
    assert replay(ledger, died.id) == ledger.operate("replay", died.id) == "too old"
    assert replay(ledger, died.id, force=True) == "done"
    (detail,) = ledger.column("select detail from emq.audit where verb = 'replay'")
    assert detail["forced"] == "too old"


def test_force_that_overrides_nothing_is_not_on_record(ledger: Ledger) -> None:
    replay(ledger, die(ledger).id, force=True)
    (detail,) = ledger.column("select detail from emq.audit where verb = 'replay'")
    assert "forced" not in detail


def test_one_that_another_is_moving_is_busy(ledger: Ledger, other: Ledger) -> None:
    died = die(ledger)
    assert replay(other, died.id) == "done"
    assert replay(ledger, died.id) == "busy"
    other.conn.rollback()
    assert replay(ledger, died.id) == "done"
