"""What the floors rest on: in which order a writer takes its xid, its number and the time."""

from __future__ import annotations

from tests.protocol.calls import Ledger


def test_a_number_in_the_line_is_drawn_after_the_xid(ledger: Ledger, other: Ledger) -> None:
    """Whoever holds a number at or below a mark must have an older xid than the mark's."""
    default = ledger.one(
        "select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = 'emq.pending'::regclass"
        " and pg_get_expr(adbin, adrelid) ~ 'nextval'"
    )
    for _ in range(5):  # one number in thirty-two takes an xid in any case
        ledger.one("select nextval('emq.ord_seq')")
        assert other.one("select pg_current_xact_id_if_assigned()") is None
        other.one(f"select {default}")
        assert other.one("select pg_current_xact_id_if_assigned()") is not None
        other.conn.rollback()


def test_an_extension_in_an_old_transaction_is_by_the_clock(ledger: Ledger, other: Ledger) -> None:
    held = ledger.start(lease="50 ms")
    other.rows("select now()")
    ledger.expire(held)
    assert other.extend(held, lease="50 ms") == ["done"]
    assert other.one("select lease_deadline > now() + interval '55 ms' from emq.active")
    other.conn.rollback()
