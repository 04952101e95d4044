"""ring: a hint to whoever listens, after the caller's commit."""

from __future__ import annotations

from tests.protocol.calls import Ledger


def test_a_listener_hears_the_queue_after_the_commit_and_not_before(
    ledger: Ledger, other: Ledger
) -> None:
    ledger.run('listen "emq.ring"')
    other.rows("select emq.ring('mail')")
    other.conn.rollback()
    other.rows("select emq.ring('default')")
    other.conn.commit()
    (heard,) = ledger.conn.notifies(timeout=10, stop_after=1)
    assert (heard.channel, heard.payload) == ("emq.ring", "default")


def test_an_enqueue_rings_nobody(ledger: Ledger, other: Ledger) -> None:
    ledger.run('listen "emq.ring"')
    other.add()
    other.conn.commit()
    other.rows("select emq.ring('last')")
    other.conn.commit()
    (heard,) = ledger.conn.notifies(timeout=10, stop_after=1)
    assert heard.payload == "last"


def test_no_table_has_a_trigger_that_could_notify(ledger: Ledger) -> None:
    triggers = "select count(*) from pg_trigger t join pg_class c on c.oid = t.tgrelid"
    assert ledger.one(f"{triggers} where c.relnamespace = 'emq'::regnamespace") == 0
