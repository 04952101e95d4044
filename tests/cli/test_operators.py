"""cancel, drain, obliterate, release-worker, queue and settings as an operator says them."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result

from emq_sql.cli import cancelling
from emq_sql.cli.main import main
from emq_sql.minting import new_id
from tests.cli.conftest import COMMAND, PATIENCE, ROOT, Emq, Holder
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger

Hold = Callable[..., Holder]
Say = Callable[..., Result]


@pytest.fixture
def ledger(db: Database) -> Ledger:
    return Ledger(db.connect())


@pytest.fixture
def other(db: Database) -> Ledger:
    """A session of somebody else's, whose transaction stays open."""
    return Ledger(db.connect(autocommit=False))


@pytest.fixture
def say(db: Database) -> Say:
    """The command in this process: who is asked for a word gives the input."""

    def said(*words: str, code: int = 0, given: str | None = None) -> Result:
        result = CliRunner().invoke(main, words, env={"EMQ_DSN": db.dsn}, input=given)
        assert result.exit_code == code, (words, result.output, result.exception)
        return result

    return said


def told(result: Result) -> Any:
    return json.loads(result.stdout)


def test_drain_counts_first_and_then_cancels_what_waits(say: Say, ledger: Ledger) -> None:
    running = ledger.start()
    ledger.add(3)
    ledger.add_one(delay="1 h")
    ledger.add_one("other")
    assert told(say("drain", "default", "--dry-run", "--json"))["would_cancel"] == 3
    assert told(say("drain", "default", "--dry-run", "--scheduled", "--json"))["would_cancel"] == 4
    assert told(say("drain", "nobody", "--dry-run", "--json"))["would_cancel"] == 0
    assert ledger.one("select count(*) from emq.pending") == 4
    done = say("drain", "default", "--limit", "2", "--label", "deploy 7", "--json")
    assert told(done) == {"queue": "default", "cancelled": 3}
    assert told(say("drain", "default", "--scheduled", "--json"))["cancelled"] == 1
    assert ledger.rows("select label, detail ->> 'cancelled' from emq.audit") == [
        ("deploy 7", "2"), ("deploy 7", "1"), (None, "1"),
    ]  # fmt: skip
    assert ledger.complete(running) == ["done"]


def test_obliterate_asks_for_the_name_and_refuses_while_jobs_run(say: Say, ledger: Ledger) -> None:
    held = ledger.start()
    ledger.add(4)
    assert told(say("obliterate", "default", "--dry-run", "--json"))["would_erase"] == 5
    for words, given in ((["--confirm", "other"], None), ([], "other\n")):
        assert "is not the name" in say("obliterate", "default", *words, code=2, given=given).stderr
    say("obliterate", "default", code=1, given="")  # nobody is there to say it
    refused = say("obliterate", "default", "--json", code=1, given="default\n")
    assert told(refused) == {
        "queue": "default", "erased": 0, "ended": "refused: jobs run", "remaining": 1,
    }  # fmt: skip
    assert ledger.one("select count(*) from emq.job") == 5
    done = say(
        "obliterate", "default", "--confirm", "default", "--force", "--limit", "2",
        "--label", "gone", "--json",
    )  # fmt: skip
    assert told(done) == {"queue": "default", "erased": 5}
    assert ledger.one("select count(*) from emq.job") == 0
    assert ledger.complete(held) == ["lost"]
    assert set(ledger.column("select label from emq.audit")) == {"gone"}


def test_what_a_killed_worker_held_is_taken_back_by_its_name(
    say: Say, ledger: Ledger, hold: Hold
) -> None:
    ids = ledger.add(3)
    hold(2).kill()
    assert told(say("release-worker", "holder-1", "--dry-run", "--json"))["would_release"] == 2
    released = say(
        "release-worker", "holder-1", "--limit", "1", "--label", "host is gone", "--json"
    )
    assert told(released) == {"worker": "holder-1", "released": 2, "busy": 0}
    again = ledger.claim(9)
    assert [held.id for held in again] == ids
    assert [held.stalled for held in again] == [0, 0, 0]
    assert told(say("release-worker", "holder-1", "--json"))["released"] == 0


def test_what_an_open_transaction_holds_is_said_to_be_busy(
    say: Say, ledger: Ledger, db: Database
) -> None:
    held = ledger.start(worker="mine")
    other = Ledger(db.connect(autocommit=False))
    other.guard(held)
    assert told(say("release-worker", "mine", "--json", code=1))["busy"] == 1


def test_jobs_are_cancelled_by_id_and_each_has_its_answer(
    say: Say, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cancelling, "_HEARS_WITHIN", 0.0)
    running, waiting, gone = ledger.start(), ledger.add_one(), new_id()
    words = [str(waiting), str(running.id), str(gone)]
    rows = told(say("cancel", *words, "--dry-run", "--json"))
    assert [row.get("place") for row in rows] == ["pending", "active", None]
    answers = told(say("cancel", *words, "--label", "wrong price", "--json", code=1))
    assert [row["answer"] for row in answers] == ["done", "done", "lost"]
    assert [row["was"] for row in answers] == ["waiting", "running", None]
    assert [row["worker"] for row in answers] == [None, "w1", None]
    assert [row["told"] for row in answers] == [None, False, None]
    assert ledger.complete(running) == ["lost"]
    assert set(ledger.column("select label from emq.audit")) == {"wrong price"}
    assert "not a UUID" in say("cancel", "42", code=2).stderr


def test_who_cancels_rings_for_the_holder_and_says_whether_it_knows(
    say: Say, ledger: Ledger, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent, answers, waits = ledger.start(worker="a"), ledger.start(worker="b"), ledger.add_one()
    with db.connect() as holder, ThreadPoolExecutor(1) as threads:
        holder.execute('listen "emq.ring"')

        def hears() -> list[str]:
            rings = [n.payload for n in holder.notifies(timeout=PATIENCE, stop_after=2)]
            assert Ledger(db.connect()).extend(answers) == ["lost"]
            return rings

        heard = threads.submit(hears)
        monkeypatch.setattr(cancelling, "_HEARS_WITHIN", 1.0)
        said = say("cancel", str(silent.id), str(answers.id), str(waits))
        assert heard.result() == [f"!{silent.id}", f"!{answers.id}"]
    assert [line.split()[1:] for line in said.stdout.splitlines()[1:]] == [
        ["done", "running", "a", "no"],
        ["done", "running", "b", "yes"],
        ["done", "waiting", "-", "-"],
    ]
    assert f"job {silent.id}: cancelled, and a does not say yet that it knows" in said.stderr
    assert str(answers.id) not in said.stderr


def test_sql_to_be_stopped_is_on_record_with_the_cancel_or_not_at_all(
    say: Say, ledger: Ledger, other: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cancelling, "_HEARS_WITHIN", 0.0)
    monkeypatch.setattr(cancelling, "_PAUSE", 0.01)
    gone, held, guarded = ledger.start(), ledger.start(), ledger.start()
    ledger.complete(gone)
    other.guard(guarded)
    said = say("cancel", "--sql", *(str(held.id) for held in (gone, held, guarded)), code=1)
    assert [line.split()[1] for line in said.stdout.splitlines()[1:]] == ["lost", "done", "busy"]
    stops = "select id from emq.audit where verb = 'stop sql' order by at"
    assert ledger.column(stops) == [held.id, guarded.id]  # once, however often it was asked
    assert "was asked to cancel its SQL" in said.stderr


def test_the_settings_of_a_queue_are_set_shown_and_reset(say: Say, ledger: Ledger) -> None:
    shown = told(say("queue", "show", "mail", "--json"))
    assert (shown["lease"], shown["max_attempts"], shown["max_active"]) == (30, 25, None)
    say("queue", "set", "mail", "lease=2m", "max_active=1", "retention=7d", "replay_within=never",
        "quarantine=sick", "on_dead=shop.tell", "--label", "slow host")  # fmt: skip
    lines = dict(
        line.split(maxsplit=1) for line in say("queue", "show", "mail").stdout.splitlines()
    )
    assert lines == {
        "paused": "no", "lease": "2m", "max_attempts": "25", "max_stalled": "3", "max_active": "1",
        "retention": "7d", "cancelled_retention": "-", "dead_retention": "-",
        "replay_within": "never", "unknown_after": "-", "quarantine": "sick",
        "quarantine_after": "-", "on_dead": "shop.tell", "on_dead_queue": "-",
    }  # fmt: skip
    after = told(say("queue", "set", "mail", "max_active=none", "lease=none", "--json"))
    assert (after["max_active"], after["lease"], after["retention"]) == (None, 30, 604800)
    assert "There is no setting" in say("queue", "set", "mail", "max_activ=1", code=2).stderr
    assert "EMQ106" in say("queue", "set", "mail", "quarantine=mail", code=2).stderr
    assert ledger.column("select label from emq.audit") == ["slow host", None]


def test_the_settings_of_the_ledger_are_set_shown_and_reset(say: Say) -> None:
    usual = {
        "retention": 30 * 86400, "audit_retention": 365 * 86400, "inbox_retention": 30 * 86400,
        "export_first": False,
    }  # fmt: skip
    assert told(say("settings", "show", "--json")) == usual
    changed = told(say("settings", "set", "retention=60d", "export_first=yes", "--json"))
    assert changed == usual | {"retention": 60 * 86400, "export_first": True}
    assert "EMQ106" in say("settings", "set", "retention=1s", code=2).stderr
    reset = say("settings", "set", "retention=none", "export_first=none")
    assert reset.stdout.splitlines()[0].split() == ["retention", "30d"]


def test_adopt_asks_what_becomes_of_the_jobs_and_of_the_tag(say: Say, ledger: Ledger) -> None:
    ledger.add(2)
    ledger.rows("select emq.tag('production')")
    assert "--hold" in say("adopt", code=2).stderr
    assert 'tagged for "production"' in say("adopt", "--run", code=2).stderr
    assert (
        "EMQ106" in say("adopt", "--run", "--environment", "x", "--no-environment", code=2).stderr
    )
    assert told(say("adopt", "--run", "--no-environment", "--dry-run", "--json"))["pending"] == 2
    assert ledger.one("select environment from emq.meta") == "production"
    told_of = told(say("adopt", "--hold", "--environment", "staging", "--json"))
    assert told_of == {"adopted": "hold", "environment": "staging", "paused": "default"}
    say("adopt", "--discard", "--no-environment", code=2, given="another\n")
    name = ledger.conn.info.dbname
    gone = told(say("adopt", "--discard", "--no-environment", "--json", given=f"{name}\n"))
    assert gone == {"adopted": "discard", "environment": None, "cancelled": 2, "discarded": 0}


def test_ctrl_c_ends_between_two_batches_and_tells_how_far_it_came(
    emq: Emq, reader: psycopg.Connection[Any]
) -> None:
    reader.execute(
        "select emq.enqueue('default', 't', '{}') from generate_series(1, 4000)"
    ).fetchall()
    process = subprocess.Popen(
        [*COMMAND, "drain", "default", "--limit", "1", "--json"],
        cwd=ROOT, env=emq.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    done = "select count(*) from emq.archive"
    while reader.execute(done).fetchone() == (0,):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (130, "")
    assert reader.execute(done).fetchone() == (json.loads(out)["cancelled"],)
    assert reader.execute("select count(*) < 4000 from emq.archive").fetchone() == (True,)
