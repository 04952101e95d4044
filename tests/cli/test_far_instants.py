"""A job that a client of SQL has put beyond every date is seen like any other."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from emq_sql.protocol import connecting
from emq_sql.protocol.adapt import cursor
from emq_sql.protocol.instants import FIRST, LAST
from tests.cli.conftest import Emq
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger

FAR = ("infinity", "100000-01-01 00:00:00+00")


@pytest.mark.parametrize("far", FAR)
def test_one_far_instant_hides_no_job(emq: Emq, db: Database, far: str) -> None:
    ledger = Ledger(db.connect())
    waits = ledger.add_one(run_at=far)
    held, near = ledger.start(), ledger.start()
    endless = far == "infinity" and ledger.conn.info.server_version >= 170000  # it knows the word
    assert ledger.extend(held, lease="infinity" if endless else "100000 years") == ["done"]
    listed = {job["id"]: job for job in emq("ledger", "--json").json}
    assert set(listed) == {str(held.id), str(near.id)}
    assert listed[str(held.id)]["lease_deadline"].startswith("9999-12-")
    assert len(emq("ledger").lines) == 3
    for id in (waits, held.id):
        assert str(id) in emq("job", str(id)).out
    assert emq("job", str(waits), "--json").json["until"].startswith("9999-12-")
    assert emq("queues").code == 0


@pytest.mark.parametrize("style", ["ISO", "German"], ids=["in text", "in binary"])
@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_the_ends_of_all_time_are_read(db: Database, style: str, zone: str) -> None:
    conn = connecting.bounded(db.dsn, 20)
    conn.execute("select set_config('DateStyle', %s, false)", [style])
    conn.execute("select set_config('TimeZone', %s, false)", [zone])
    for given, read in (
        ("infinity", LAST), ("-infinity", FIRST), ("4000-01-01 BC", FIRST), ("294276-12-31", LAST),
    ):  # fmt: skip
        assert instant(conn, given) == read
    assert instant(conn, "2026-11-30 12:00:00+00").year == 2026
    conn.close()


def instant(conn: psycopg.Connection[Any], given: str) -> Any:
    row = cursor(conn).execute("select %s::timestamptz", [given]).fetchone()
    assert row is not None
    row[0].astimezone()  # as it is shown
    return row[0]
