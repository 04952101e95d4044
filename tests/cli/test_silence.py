"""A database that does not answer: each command ends in time and says so, or says what it waits
for.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from emq_sql.protocol import steps
from tests.cli.conftest import COMMAND, PATIENCE, ROOT, Emq
from tests.plugins.databases import Database
from tests.plugins.proxy import proxied

Start = Callable[..., subprocess.Popen[str]]

ASKS = (
    (b"emq.depth", "queues"),
    (b"emq.search", "archive", "search", "--timeout", "100ms"),
    (b"emq.misplaced", "doctor"),
    (b"cron.database_name", "cron", "status"),
    (b"emq.meta", "schema", "current"),
)
DOES = (
    (b"emq.replay_many", "replay", "--all"),
    (b"emq.drain", "drain", "mail"),
    (b"emq.set_queue", "queue", "set", "mail", "lease=9s"),
)


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts the command on a DSN; what is left ends with the test."""
    started: list[subprocess.Popen[str]] = []

    def begin(dsn: str, *words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*COMMAND, *words], cwd=ROOT, env=Emq(dsn).env(), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def err_of(process: subprocess.Popen[str], code: int) -> str:
    """What it said on standard error; it must have ended with this code, and printed nothing."""
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (code, ""), err
    return err


def test_every_command_ends_when_its_connection_has_fallen_silent(
    db: Database, start: Start
) -> None:
    """Those that only ask may be repeated; of those that do something it is not known."""
    with ExitStack() as stack:
        running = []
        for needle, *words in (*ASKS, *DOES):
            proxy = stack.enter_context(proxied(db.dsn))
            proxy.silence(needle)
            running.append((proxy, words, start(proxy.dsn, "--patience", "0.5", *words)))
        for n, (proxy, words, process) in enumerate(running):
            err = err_of(process, 1)
            assert proxy.lost.is_set(), words
            *before, last = err.splitlines()
            assert last.startswith("emq: No answer within "), (words, err)
            assert "--patience" in last and ("[EMQ401]" if n < len(ASKS) else "[EMQ402]") in last
            assert not before or "--timeout" in words, (words, err)


def test_a_lost_answer_is_not_told_as_nothing_done(db: Database, start: Start) -> None:
    with proxied(db.dsn) as proxy:
        proxy.lose_reply_to(b"emq.set_queue")
        err = err_of(start(proxy.dsn, "queue", "set", "mail", "lease=9s"), 1)
    assert "unknown" in err and "[EMQ402]" in err
    assert db.connect().execute("select count(*) from emq.queue").fetchone() == (1,)


def test_a_statement_past_patience_is_cancelled_on_the_server(db: Database, start: Start) -> None:
    holder = db.connect(autocommit=False)
    holder.execute("lock table emq.queue in access exclusive mode")
    err = err_of(start(db.dsn, "--patience", "0.5", "queues"), 1)
    assert "nothing was done" in err and err.endswith("[EMQ401]\n")
    waits = "select count(*) from pg_locks where relation = 'emq.queue'::regclass and not granted"
    assert db.connect().execute(waits).fetchone() == (0,)


def test_a_step_of_the_schema_is_never_cut_and_who_is_in_its_way_is_told(
    db: Database, start: Start
) -> None:
    steps.downgrade(db.connect(), to=4)
    holder = db.connect(autocommit=False, application_name="somebody")
    holder.execute("lock table emq.queue in access share mode")
    process = start(db.dsn, "--patience", "0.5", "schema", "downgrade", "--to", "3")
    assert process.stderr is not None
    told, going_on = process.stderr.readline(), process.stderr.readline()
    assert f"waiting for process {holder.info.backend_pid} " in told and "somebody" in told
    assert "no answer for 0.5 s yet" in going_on and "not cut short" in going_on
    holder.rollback()
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    assert "now at 3" in out


def test_steps_back_that_are_held_up_are_tried_again_as_a_whole(db: Database, start: Start) -> None:
    holder = db.connect(autocommit=False, application_name="somebody")
    holder.execute("lock table emq.queue in access share mode")
    process = start(db.dsn, "--patience", "0.5", "schema", "downgrade", "--to", "3")
    assert process.stderr is not None
    told = process.stderr.readline()
    assert f"waiting for process {holder.info.backend_pid} " in told and "somebody" in told
    assert steps.current(db.connect()) == steps.newest()
    holder.rollback()
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "now at 3" in out


def test_ctrl_c_ends_a_command_that_hears_nothing(db: Database, start: Start) -> None:
    with proxied(db.dsn) as proxy:
        proxy.silence(b"emq.depth")
        process = start(proxy.dsn, "queues")
        assert proxy.lost.wait(PATIENCE), process.poll()
        process.send_signal(signal.SIGINT)
        assert err_of(process, 130) == ""
