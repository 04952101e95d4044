"""set_queue and set_ledger: settings by name, refused as a whole when one cannot be."""

from __future__ import annotations

import pytest
from psycopg.types.json import Jsonb

from tests.protocol.calls import Ledger, refused

EVERY = {
    "lease": "1 min", "max_attempts": 3, "max_stalled": 2, "max_active": 10, "retention": "1 day",
    "cancelled_retention": "1 h", "dead_retention": "90 days", "replay_within": "0",
    "unknown_after": "1 day", "quarantine": "sick", "quarantine_after": 1, "on_dead": "tell",
    "on_dead_queue": "alarms",
}  # fmt: skip


def settings(ledger: Ledger, queue: str = "default") -> dict[str, object]:
    found: dict[str, object] = ledger.one(
        "select to_jsonb(q) - 'name' - 'paused' from emq.queue q where name = %s", queue
    )
    return found


def test_each_setting_is_set_by_its_name_and_null_resets_it(ledger: Ledger) -> None:
    ledger.set_queue("fresh")
    fresh = settings(ledger, "fresh")
    assert set(fresh) == set(EVERY)
    ledger.set_queue(**EVERY)
    assert all(settings(ledger)[name] != value for name, value in fresh.items())
    ledger.set_queue(**dict.fromkeys(EVERY))
    assert settings(ledger) == fresh


def test_what_is_not_named_stays(ledger: Ledger) -> None:
    ledger.set_queue(**EVERY)
    before = settings(ledger)
    ledger.set_queue(max_active=1)
    assert settings(ledger) == before | {"max_active": 1}


@pytest.mark.parametrize(
    "bad",
    [
        {"leese": "1 min"}, {"lease": "soon"}, {"lease": "1 ms"}, {"max_active": 0},
        {"max_attempts": 99999}, {"quarantine": "Not A Queue"}, {"quarantine": "default"},
        {"replay_within": "-1 h"}, {"on_dead": ""}, {"retention": "0"},
        {"quarantine": "sick", "quarantine_after": 9}, {"retention": [1]},
        {"max_active": {"n": 1}},
    ],
    ids=str,
)  # fmt: skip
def test_one_that_cannot_be_is_refused_and_nothing_is_changed(
    ledger: Ledger, bad: dict[str, object]
) -> None:
    ledger.set_queue(max_attempts=7)
    before = settings(ledger)
    with refused("EQ006", hint=next(iter(bad)) if "leese" not in bad else "lease"):
        ledger.set_queue(**({"max_stalled": 5} | bad))
    assert settings(ledger) == before


@pytest.mark.parametrize("given", ["[]", "null", "3", None])
def test_what_is_no_object_is_refused(ledger: Ledger, given: str | None) -> None:
    with refused("EQ006", hint="max_attempts"):
        ledger.rows("select emq.set_queue('default', %s::jsonb)", given)


def test_the_ledgers_own_settings(ledger: Ledger) -> None:
    row = "select retention::text, audit_retention::text, export_first from emq.meta"
    given = {"retention": "7 days", "audit_retention": "30 days", "export_first": True}
    ledger.rows("select emq.set_ledger(%s)", Jsonb(given))
    assert ledger.row(row) == ("7 days", "30 days", True)
    ledger.rows("select emq.set_ledger(%s)", Jsonb(dict.fromkeys(given)))
    assert ledger.row(row) == ("30 days", "1 year", False)
    for bad in ({"retention": "1 min"}, {"export_first": "perhaps"}, {"environment": "x"}):
        with refused("EQ006"):
            ledger.rows("select emq.set_ledger(%s)", Jsonb(bad))


LENGTHS = [name for name in EVERY if name in ("lease", "replay_within", "unknown_after")
           or name.endswith("retention")]  # fmt: skip
LONG = "2000000 years"  # as long as infinity, which only PostgreSQL 17 and later can say


@pytest.mark.parametrize("name", LENGTHS)
def test_no_setting_of_a_queue_is_infinite(ledger: Ledger, name: str) -> None:
    ledger.set_queue(**{name: EVERY[name]})
    before = settings(ledger)
    for given in ("infinity", LONG):
        with refused("EQ006", names=None if given == "infinity" else f"{name} cannot be infinite"):
            ledger.set_queue(**{name: given})
    assert settings(ledger) == before


@pytest.mark.parametrize("name", ["retention", "audit_retention", "inbox_retention"])
def test_no_setting_of_the_ledger_is_infinite(ledger: Ledger, name: str) -> None:
    for given in ("infinity", LONG):
        with refused("EQ006", names=None if given == "infinity" else f"{name} cannot be infinite"):
            ledger.rows("select emq.set_ledger(%s)", Jsonb({name: given}))
    assert ledger.one(f"select isfinite({name}) from emq.meta")


@pytest.mark.parametrize("name", ["lease", "retention"])
def test_configure_sets_nothing_infinite(ledger: Ledger, name: str) -> None:
    with refused("EQ006", names=f"{name} cannot be infinite", hint="1000 years"):
        ledger.rows(f"select emq.configure('default', p_{name} => interval '{LONG}')")
    assert ledger.one("select count(*) from emq.queue where name = 'default'") == 0


def test_where_the_server_knows_infinity_it_is_refused_by_that_name(ledger: Ledger) -> None:
    if ledger.conn.info.server_version < 170000:
        with refused("EQ006", names="invalid input syntax for type interval"):
            ledger.set_queue(retention="infinity")
        return
    with refused("EQ006", names="retention cannot be infinite"):
        ledger.set_queue(retention="infinity")


def test_a_value_out_of_bounds_is_told_in_words(ledger: Ledger) -> None:
    checks = ledger.column(
        "select c.conname from pg_constraint c where c.contype = 'c'"
        " and (c.conrelid = 'emq.queue'::regclass or c.conname ~ '^meta_.*retention')"
        " and c.conname <> 'queue_name_ck' and obj_description(c.oid, 'pg_constraint') is null"
    )
    assert checks == []
    with refused("EQ006", names="lease is 200 ms to 1 day"):
        ledger.set_queue(lease="1 ms")
    with refused("EQ006", names="less than max_stalled"):
        ledger.set_queue(quarantine="sick", quarantine_after=3)
    with refused("EQ006", names="retention is 1 hour or more"):
        ledger.rows("select emq.set_ledger(%s)", Jsonb({"retention": "1 min"}))


def test_it_is_audited(ledger: Ledger) -> None:
    ledger.rows("select emq.set_queue('mail', %s, 'less of it')", Jsonb({"max_active": 3}))
    assert ledger.row("select verb, queue, label, detail from emq.audit") == (
        "configure", "mail", "less of it", {"max_active": 3},
    )  # fmt: skip
