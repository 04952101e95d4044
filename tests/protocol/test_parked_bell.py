"""park and ring_parked: the bell rings only for queues that somebody waits for."""

from __future__ import annotations

from emq_sql.protocol import steps
from tests.protocol.calls import Ledger


def rung(ledger: Ledger, *queues: str) -> list[str]:
    return sorted(ledger.one("select emq.ring_parked(%s)", list(queues)))


def park(ledger: Ledger, *queues: str) -> None:
    ledger.rows("select emq.park(%s::text[])", list(queues))
    ledger.conn.commit()


def locks(ledger: Ledger) -> int:
    return int(
        ledger.one(
            "select count(*) from pg_locks where locktype = 'advisory' and classid = 7306 and"
            " database = (select oid from pg_database where datname = current_database())"
        )
    )


def test_nobody_is_rung_for_when_nobody_waits(ledger: Ledger) -> None:
    assert rung(ledger, "mail") == []
    assert locks(ledger) == 0


def test_only_queues_that_somebody_waits_for_are_rung(ledger: Ledger, other: Ledger) -> None:
    park(other, "mail")
    assert rung(ledger, "mail", "a", "b", "c", "d") == ["mail"]
    assert rung(ledger) == []


def test_who_is_parked_hears_the_queue(ledger: Ledger, other: Ledger) -> None:
    other.run('listen "emq.ring"')
    park(other, "mail")
    rung(ledger, "mail")
    (heard,) = other.conn.notifies(timeout=10, stop_after=1)
    assert (heard.channel, heard.payload) == ("emq.ring", "mail")


def test_parking_anew_takes_the_place_of_the_former(ledger: Ledger, other: Ledger) -> None:
    park(other, "mail", "a")
    park(other, "mail", "b")
    park(other, "mail", "b")
    assert rung(ledger, "a", "b", "mail") == ["b", "mail"]
    park(other)
    assert rung(ledger, "a", "b", "mail") == []
    assert locks(ledger) == 0


def test_the_end_of_the_session_ends_the_waiting(ledger: Ledger, other: Ledger) -> None:
    park(other, "mail")
    ledger.rows("select pg_terminate_backend(%s, 10000)", other.conn.info.backend_pid)
    assert rung(ledger, "mail") == []


def test_whoever_rings_holds_nobody_up(ledger: Ledger, other: Ledger) -> None:
    """Parking waits for no transaction of a producer."""
    with ledger.conn.transaction():
        assert rung(ledger, "mail") == []
        other.run("set lock_timeout = '5s'")
        park(other, "mail")


def test_any_number_of_queues_takes_a_bounded_number_of_locks(
    ledger: Ledger, other: Ledger
) -> None:
    queues = [f"q{n}" for n in range(1000)]
    park(other, *queues)
    assert locks(ledger) == 64
    assert rung(ledger, *queues) == sorted(queues)
    park(other, *queues[:1])
    assert locks(ledger) == 1


def test_another_ledger_of_the_database_has_other_bells(ledger: Ledger, other: Ledger) -> None:
    steps.upgrade(ledger.conn, schema="second")
    park(other, "mail")
    assert ledger.one("select second.ring_parked(array['mail'])") == []
    assert rung(ledger, "mail") == ["mail"]
