"""emq archive export, verify and import, as an operator calls them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from emq_sql.cli.main import main
from emq_sql.upkeep.export import run
from tests.export.days import close, filled, in_database, in_files, parts
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60


@pytest.fixture
def days(ledger: Ledger) -> list[date]:
    """Two days that are over by long, with 30 jobs each."""
    found = [filled(ledger, 10, 30), filled(ledger, 9, 30)]
    close(ledger, *found)
    return found


def archive(db: Database, *words: object, dsn: bool = True) -> Result:
    given = ["archive", *map(str, words)] + (["--dsn", db.dsn] if dsn else [])
    return CliRunner().invoke(main, given, env={"EMQ_DSN": None})


def told(result: Result, code: int = 0) -> Any:
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def test_days_are_exported_oldest_first_verified_dropped_and_imported(
    db: Database, ledger: Ledger, folder: Path, days: list[date]
) -> None:
    whole = {day: in_database(ledger, day) for day in days}
    first = archive(db, "export", "--to", folder, "--older-than", "7d", "--part-rows", 20, "--json")
    mine = [row for row in told(first) if row["day"] in map(str, days)]
    assert [(row["day"], row["outcome"], row["rows"]) for row in mine] == [
        (str(day), "exported", 30) for day in days
    ]
    assert f"{days[0]}: 20 of 30 rows exported" in first.stderr
    assert sorted(row["day"] for row in told(first)) == [row["day"] for row in told(first)]
    again = archive(db, "export", "--to", folder, "--day", days[0], "--json")
    assert [row["outcome"] for row in told(again)] == ["already exported"]

    looked_at = told(archive(db, "verify", folder, "--json"))
    assert {row["state"] for row in looked_at} == {"whole"}
    dropped = archive(db, "export", "--to", folder, "--day", days[0], "--drop", "--json")
    assert [row["outcome"] for row in told(dropped)] == ["dropped"]
    assert not in_database(ledger, days[0])
    assert in_files(folder, days[0]) == whole[days[0]]

    come = told(archive(db, "import", folder / str(days[0]), "--into", "history", "--json"))
    assert come == {"day": str(days[0]), "rows": 30, "added": 30}
    assert ledger.one("select count(*) from history where payload ? 'order'") == 30


def test_damage_is_told_marked_and_keeps_the_day(
    db: Database, ledger: Ledger, folder: Path, days: list[date]
) -> None:
    archive(db, "export", "--to", folder, "--day", days[0])
    (part,) = parts(folder, days[0])
    whole = part.read_bytes()
    part.write_bytes(whole[:-1])
    (row,) = told(archive(db, "verify", folder, "--json", dsn=False), code=1)
    assert part.name in row["state"]
    assert ledger.one("select verified_at is not null from emq.exported")
    told(archive(db, "verify", folder, "--json"), code=1)
    assert ledger.retire(days[0])[0] == "unexported"
    part.write_bytes(whole)
    told(archive(db, "verify", folder, "--json"))
    (row,) = told(archive(db, "export", "--to", folder, "--day", days[0], "--drop", "--json"))
    assert row["outcome"] == "dropped"
    for file in part.parent.iterdir():
        file.unlink()
    (row,) = told(archive(db, "verify", folder, "--json"), code=1)
    assert "is missing" in row["state"]


def test_one_day_that_cannot_be_dropped_keeps_no_other_waiting(
    db: Database, ledger: Ledger, folder: Path, days: list[date]
) -> None:
    assert archive(db, "export", "--to", folder, "--day", days[0]).exit_code == 0
    parts(folder, days[0])[0].write_bytes(b"")
    done = archive(db, "export", "--to", folder, "--older-than", "7d", "--drop", "--json")
    outcomes = {row["day"]: row["outcome"] for row in told(done, code=1)}
    assert (outcomes[str(days[0])], outcomes[str(days[1])]) == ("failed", "dropped")
    assert "[EMQ702]" in done.stderr
    assert len(in_database(ledger, days[0])) == 30


def test_a_day_that_may_still_get_rows_is_left_out_and_it_is_said_who_holds_it(
    db: Database, ledger: Ledger, days: list[date]
) -> None:
    writer = Ledger(db.connect(autocommit=False, application_name="slow importer"))
    writer.complete(writer.start())
    day = days[0] - timedelta(1)
    assert ledger.one("select status from emq.closed(%s)", day) == "held"
    why = run.closed(ledger.conn, "emq", day, stopping=lambda: True)
    assert "slow importer" in str(why)
    writer.conn.rollback()
    assert run.closed(ledger.conn, "emq", day, stopping=lambda: True) is None
    today = ledger.one("select (now() at time zone 'utc')::date")
    assert "not over" in str(run.closed(ledger.conn, "emq", today, stopping=lambda: True))


@pytest.mark.parametrize(
    ("location", "says"),
    [
        ("", "is empty"),
        ("s3://key:secret@bucket/x", "holds a key"),
        ("nowhere://bucket/x", "nowhere://bucket/x"),
        ("s3://", "nothing but a kind of storage"),
        ("~nosuch/x", "No home directory is known for ~nosuch"),
    ],
)
def test_a_location_that_is_none_is_refused_before_anything_is_done(
    db: Database, location: str, says: str
) -> None:
    refused = archive(db, "export", "--to", location)
    assert refused.exit_code == 2
    assert says in refused.stderr
    assert "[EMQ106]" in refused.stderr
    assert "secret" not in refused.stderr


def test_a_copy_exports_nothing_before_it_is_adopted(
    db: Database, ledger: Ledger, folder: Path, days: list[date]
) -> None:
    ledger.run("update emq.meta set home = 'another server'")
    refused = archive(db, "export", "--to", folder, "--drop")
    assert refused.exit_code == 1
    assert "it is a copy" in refused.stderr
    assert "emq adopt" in refused.stderr
    assert not folder.exists()


def test_one_day_that_the_database_will_not_drop_keeps_no_other_waiting(
    db: Database, ledger: Ledger, folder: Path, days: list[date]
) -> None:
    """Where each transaction is serializable, unless it says otherwise."""
    with db.connect() as conn:
        conn.execute(
            f"alter database {conn.info.dbname} set default_transaction_isolation = serializable"
        )
    ledger.run(
        "create function stays() returns event_trigger language plpgsql as $$ begin"
        "  if exists (select from pg_event_trigger_dropped_objects()"
        f"             where object_name = 'archive_{days[0]:%Y%m%d}')"
        "  then raise 'it stays'; end if; end $$"
    )
    ledger.run("create event trigger stays on sql_drop execute function stays()")
    done = archive(db, "export", "--to", folder, "--older-than", "7d", "--drop", "--json")
    outcomes = {row["day"]: row["outcome"] for row in told(done, code=1)}
    assert (outcomes[str(days[0])], outcomes[str(days[1])]) == ("failed", "dropped")
    assert "It stays" in done.stderr
    assert told(archive(db, "tidy", "--json"))["then"] == "nothing"
    unknown = archive(db, "export", "--to", folder, "--day", days[1])
    assert unknown.exit_code == 1
    assert "no partition" in unknown.stderr


def test_ctrl_c_ends_the_export_in_order_and_the_same_command_goes_on(
    db: Database, ledger: Ledger, folder: Path
) -> None:
    day = filled(ledger, 10, 20_000)
    close(ledger, day)
    whole = in_database(ledger, day)
    given = ["archive", "export", "--to", str(folder), "--day", str(day), "--drop"]
    child = subprocess.Popen(
        [sys.executable, "-m", "emq_sql", *given, "--part-rows", "500"],
        cwd=ROOT, env={**os.environ, "EMQ_DSN": db.dsn}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert child.stderr is not None
    first = child.stderr.readline()
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=PATIENCE)
    assert (child.returncode, "goes on from here" in err) == (130, True), (first, out, err)
    assert list(folder.rglob(".*")) == []
    recorded = ledger.one("select sum(rows) from emq.export_part")
    assert 0 < recorded < 20_000
    (row,) = told(archive(db, *given[1:], "--json"))
    assert (row["outcome"], row["rows"]) == ("dropped", 20_000 - recorded)
    assert in_files(folder, day) == whole


def test_nothing_but_the_export_needs_pyarrow(db: Database) -> None:
    """And who lacks it is told how to get it."""
    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from emq_sql.cli.main import main\n"
        "import emq_sql.cli.archive, emq_sql.cli.exporting, emq_sql.service\n"
        "main(['archive', 'verify', '/nowhere'])"
    )
    child = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert child.returncode == 1
    assert 'pip install "emq-sql[export]"' in child.stderr
    assert "[EMQ703]" in child.stderr
