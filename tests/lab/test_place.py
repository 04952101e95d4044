"""The schema of a run in a given database: told, marked, and dropped when it was left behind."""

from __future__ import annotations

from emq_sql.lab.place import place
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger

SCHEMAS = "select nspname from pg_namespace where nspname ~ '^emq' order by 1"
MARK = "made by emq lab for one run at {}; it may be dropped"


def leave(ledger: Ledger, schema: str, comment: str | None) -> None:
    ledger.run(f"create schema {schema} create table lab_run (n int)")
    if comment is not None:
        ledger.run(f"comment on schema {schema} is '{comment}'")


def test_a_run_says_its_schema_and_how_to_drop_it_and_takes_it_away(empty_db: Database) -> None:
    said: list[str] = []
    ledger = Ledger(empty_db.connect())
    with place(empty_db.dsn, said.append) as where:
        assert ledger.column(SCHEMAS) == [where.schema]
        (told,) = said
        assert f"drop schema {where.schema} cascade" in told
    assert ledger.column(SCHEMAS) == []


def test_what_runs_left_that_were_killed_is_dropped_an_hour_later(empty_db: Database) -> None:
    ledger = Ledger(empty_db.connect())
    then = "select to_char(now() - %s::interval, 'YYYY-MM-DD\"T\"HH24:MI:SSOF')"
    leave(ledger, "emq_lab_00000001", MARK.format(ledger.one(then, "61 min")))
    leave(ledger, "emq_lab_00000002", MARK.format(ledger.one(then, "59 min")))
    leave(ledger, "emq_lab_00000003", None)
    leave(ledger, "emq_lab_00000004", "mine")
    leave(ledger, "emq_lab_of_mine", MARK.format(ledger.one(then, "61 min")))
    said: list[str] = []
    with place(empty_db.dsn, said.append):
        pass
    kept = [f"emq_lab_0000000{n}" for n in (2, 3, 4)]
    assert ledger.column(SCHEMAS) == [*kept, "emq_lab_of_mine"]
    assert [line for line in said if "killed, and" in line] == [
        "the schema emq_lab_00000001 was left by a run that was killed, and is dropped"
    ]


def test_one_that_somebody_reads_stays_and_holds_nobody_up(empty_db: Database) -> None:
    ledger = Ledger(empty_db.connect())
    leave(ledger, "emq_lab_00000001", MARK.format("2000-01-01T00:00:00+00"))
    reader = Ledger(empty_db.connect(autocommit=False))
    reader.rows("select * from emq_lab_00000001.lab_run")
    said: list[str] = []
    with place(empty_db.dsn, said.append):
        assert "emq_lab_00000001" in ledger.column(SCHEMAS)
    assert "and stays" in said[0]
