"""emq archive and the whole of emq job, as an operator runs them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner

from emq_sql.cli.main import main
from emq_sql.protocol import archive
from tests.cli.conftest import Emq, Holder, Said
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger
from tests.protocol.history import days_ago, finished, queue_keeps

Hold = Callable[..., Holder]
Quick = Callable[..., Said]


@pytest.fixture
def ledger(db: Database) -> Ledger:
    return Ledger(db.connect())


@pytest.fixture
def quick(db: Database) -> Callable[..., Said]:
    """The command in this process: what is no matter of processes needs none."""

    def run(*words: str) -> Said:
        ran = CliRunner().invoke(main, words, env={"EMQ_DSN": db.dsn}, catch_exceptions=False)
        return Said(ran.exit_code, ran.stdout, ran.stderr)

    return run


def test_search_finds_what_is_said_and_tells_it_aligned_or_as_json(
    quick: Quick, ledger: Ledger
) -> None:
    id = ledger.add_one("mail", task="mail.send", payload='{"to": {"id": 7}}')
    ledger.retry(ledger.take("mail"), error="ValueError: no such address\nsecond line")
    ledger.complete(ledger.take("mail", worker="w2"))
    other = ledger.add_one("mail")
    ledger.operate("cancel", other)
    said = [
        "--queue", "mail", "--task", "mail.send", "--worker", "w2", "--status", "completed",
        "--error", "such address", "--payload", '{"to": {"id": 7}}', "--id", str(id),
        "--after", "2020-01-01T00:00:00Z", "--before", "2100-01-01T00:00:00+01:00",
    ]  # fmt: skip
    (row,) = quick("archive", "search", *said, "--json").json
    assert (row["id"], row["attempts"], row["status"]) == (str(id), 2, "completed")
    plain = quick("archive", "search", "--limit", "1")
    assert plain.lines[1].split()[:4] == [str(other), "mail", "t", "cancelled"]
    assert plain.err == "The newest 1; there may be more (--before, --limit).\n"


def test_what_cannot_be_asked_is_one_sentence() -> None:
    for words, said in (
        (["search", "--after", "2026-01-31"], "time zone"),
        (["search", "--payload", "[1]"], "object"),
        (["search", "--payload", "{"], "JSON"),
        (["search", "--id", "7"], "UUID"),
        (["search", "--queue", "Mail"], "Mail"),
        (["as-of", "yesterday"], "no instant"),
        (["as-of", "2026-01-31T10:00:00Z", "--longest", "soon"], "no duration"),
    ):
        ran = CliRunner().invoke(main, ["archive", *words], env={"EMQ_DSN": "postgresql:///none"})
        assert (ran.exit_code, ran.output.count("\n")) == (2, 1), ran.output
        assert ran.output.startswith("emq: ") and said in ran.output


def test_a_question_that_takes_too_long_ends_and_says_what_to_narrow(
    emq: Emq, db: Database
) -> None:
    with db.connect(autocommit=False) as locker:
        locker.execute("lock table emq.archive in access exclusive mode")
        for words in (["search"], ["as-of", "2026-01-31T10:00:00Z"]):
            told = emq("archive", *words, "--timeout", "0.2s").refused(1)
            assert "took longer than 0.2 s" in told and "[EMQ405]" in told


def test_as_of_tells_who_held_what(quick: Quick, hold: Hold, ledger: Ledger) -> None:
    id = ledger.add_one()
    hold()
    at: datetime = ledger.one("select clock_timestamp()")
    (row,) = quick("archive", "as-of", at.isoformat(), "--json").json
    assert (row["id"], row["worker"], row["attempts"], row["ended"]) == (
        str(id),
        "holder-1",
        1,
        None,
    )
    line = quick("archive", "as-of", at.isoformat()).lines[1]
    assert line.split()[:4] == [str(id), "default", "t", "holder-1"]
    before = (at - timedelta(hours=1)).isoformat()
    assert len(quick("archive", "as-of", before).lines) == 1


def test_days_and_tidy_say_what_goes_and_that_it_went(quick: Quick, ledger: Ledger) -> None:
    old, short = days_ago(ledger, 40), days_ago(ledger, 5)
    finished(ledger, 25, old)
    gone = finished(ledger, 5, short, "q")
    queue_keeps(ledger, "q", retention="1 d")
    ledger.run("analyze emq.archive")
    first, second, *_ = quick("archive", "days", "--json").json
    assert (first["day"], first["state"], first["rows"]) == (old.isoformat(), "due", 25)
    assert (second["state"], second["exported"]) == ("kept", "no")
    told = quick("archive", "tidy", "--limit", "10", "--json")
    assert told.json == {"steps": 5, "then": "nothing", "what": None}
    names = [f"archive_{old:%Y%m%d}", f"attempt_{old:%Y%m%d}", f"archive_{short:%Y%m%d}"]
    assert told.err.splitlines() == [
        f"retired {names[0]}", f"dropped {names[0]}", f"deleted {names[2]}", f"dropped {names[1]}",
    ]  # fmt: skip
    assert old.isoformat() not in quick("archive", "days").out

    ledger.rows("select emq.enqueue('q', 't', '{}', %s)", gone[0])
    ledger.complete(held := ledger.take("q"))
    ledger.complete(held.stale)
    ledger.run("delete from emq.archive; delete from emq.job")
    whole: dict[str, Any] = quick("job", str(gone[0]), "--json").json
    assert (whole["place"], [step["event"] for step in whole["story"]]) == ("retired", ["refused"])


def test_tidy_that_meets_another_says_so_and_ends(quick: Quick, db: Database) -> None:
    with db.connect(autocommit=False) as other:
        other.execute("select * from emq.tidy()")
        assert quick("archive", "tidy", "--json").json == {"steps": 0, "then": "busy", "what": None}


def test_the_group_lists_its_commands(quick: Quick) -> None:
    said = quick("archive", "--help").out
    for name in ("as-of", "days", "search", "tidy"):
        assert f"  {name} " in said


def test_psycopg_settings_of_a_question_do_not_outlive_it(
    reader: psycopg.Connection[Any],
) -> None:
    """Its timeout is its transaction's, or the part of the caller's that it is."""
    with reader.transaction():
        archive.search(reader, "emq", {})
        assert reader.execute("show statement_timeout").fetchone() == ("0",)
    assert reader.execute("show statement_timeout").fetchone() == ("0",)
