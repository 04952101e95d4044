"""discard_many: what a filter chooses is given up for a reason, permanent failures or not."""

from __future__ import annotations

from tests.protocol.calls import Ledger, refused
from tests.protocol.letters import die, discard, found, replay


def test_all_that_is_chosen_goes_to_the_archive_and_stays_a_duplicate(ledger: Ledger) -> None:
    ledger.set_queue("never", replay_within="0")
    ids = [die(ledger, "never").id, *(die(ledger, reason=r).id for r in ("permanent", "stalled"))]
    stays = die(ledger, "other").id
    assert discard(ledger, queue=["never", "default"]) == (3, 0, None)
    for id in ids:
        assert ledger.place(id) == "discarded"
        assert ledger.status(id) == "duplicate"
    assert found(ledger) == [stays]
    assert discard(ledger) == (1, 0, None)
    assert replay(ledger).replayed == 0


def test_no_letter_goes_without_a_reason(ledger: Ledger) -> None:
    die(ledger)
    for reason in (None, "", " \n"):
        with refused("EQ006", hint="why"):
            discard(ledger, reason)
    assert len(found(ledger)) == 1


def test_each_discard_is_on_record_with_its_reason_and_the_whole_error(ledger: Ledger) -> None:
    died = die(ledger, error="ValueError: no\nand more")
    discard(ledger, "customer left")
    rows = ledger.rows("select verb, queue, id, label, detail from emq.audit")
    detail = {"reason": "exception", "error": "ValueError: no\nand more"}
    assert rows == [("discard", "default", died.id, "customer left", detail)]


def test_chunks_go_on_where_the_last_one_ended(ledger: Ledger) -> None:
    for _ in range(5):
        die(ledger)
    oldest_first = found(ledger)[::-1]
    discarded, _, after = discard(ledger, limit=2)
    assert discarded == 2
    assert found(ledger)[::-1] == oldest_first[2:]
    assert discard(ledger, limit=2, after=after)[0] == 2
    assert discard(ledger, limit=2) == (1, 0, None)


def test_what_another_is_moving_is_busy_and_nobody_waits(ledger: Ledger, other: Ledger) -> None:
    for _ in range(2):
        die(ledger)
    assert replay(other, limit=1).replayed == 1
    assert discard(ledger) == (1, 1, None)
    other.conn.rollback()
    assert discard(ledger) == (1, 0, None)
