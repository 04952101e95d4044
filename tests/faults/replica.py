"""A primary and its streaming standby, and what befalls them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import psutil
import psycopg

from emq_sql.embedded import Server, start
from emq_sql.embedded.account import server_account
from tests.faults.processes import wait_for

PORT = 5432
REFUSED = "select xact_rollback from pg_stat_database where datname = current_database()"


class Pair:
    """Two servers, each with a socket of its own; `dsn` names both and asks for the writable one.

    `place` is owned by the account of the servers.
    """

    def __init__(self, place: Path, prefer: str | None, stack: ExitStack) -> None:
        self._account = server_account()
        self._sender = 0
        self.primary = stack.enter_context(start(data=place / "a", prefer=prefer))
        self._program(
            self.primary, "pg_basebackup", "-d", self.primary.dsn, "-D", str(place / "b"),
            "-R", "-c", "fast", "-X", "stream", "--no-sync",
        )  # fmt: skip
        # Said anew: some packages bring a pg_basebackup whose words their server's libpq lacks.
        primary = f"host={self.primary.directory} port={PORT} user=postgres"
        self.standby = stack.enter_context(
            start(data=place / "b", prefer=prefer, options={"primary_conninfo": primary})
        )
        self.until_streaming()

    @property
    def dsn(self) -> str:
        """Both, in the order in which they were made."""
        return both(self.primary, self.standby, "read-write")

    def until_streaming(self) -> None:
        """The standby follows."""
        with psycopg.connect(self.primary.dsn, autocommit=True) as reader:
            count = "select count(*) from pg_stat_replication where state = 'streaming'"
            wait_for(lambda: reader.execute(count).fetchone() == (1,), "the standby streams")

    def until_idle(self) -> None:
        """No transaction is open on the primary, in any database."""
        with psycopg.connect(self.primary.dsn, autocommit=True) as reader:
            none = "select count(*) = 1 from pg_stat_activity where xact_start is not null"
            wait_for(lambda: reader.execute(none).fetchone() == (True,), "nobody is at work")

    def until_caught_up(self) -> None:
        """The standby has all that the primary has written."""
        with psycopg.connect(self.primary.dsn, autocommit=True) as reader:
            caught_up = "select replay_lsn = pg_current_wal_lsn() from pg_stat_replication"
            wait_for(lambda: reader.execute(caught_up).fetchone() == (True,), "it has caught up")

    def until_refusing(self) -> None:
        """The standby has refused some transactions from now on."""
        usual = r"-c default_transaction_isolation=read\ committed"
        with psycopg.connect(self.standby.dsn, autocommit=True, options=usual) as reader:
            (before,) = reader.execute(REFUSED).fetchone() or (0,)
            enough = f"{REFUSED} and xact_rollback > {before + 5}".encode()
            wait_for(lambda: reader.execute(enough).fetchone(), "the standby refuses")

    def set(self, setting: str, value: str) -> None:
        """A setting of the primary, in force at return."""
        with psycopg.connect(self.primary.dsn, autocommit=True) as connection:
            connection.execute(f"alter system set {setting} = '{value}'".encode())
            connection.execute("select pg_reload_conf()")

        def in_force() -> bool:
            with psycopg.connect(self.primary.dsn) as fresh:
                shown = fresh.execute(f"show {setting}".encode()).fetchone()
            return shown == (value,)

        wait_for(in_force, f"{setting} is {value}")

    def freeze_stream(self) -> None:
        """From now on the standby gets nothing more, and nobody is told."""
        with psycopg.connect(self.primary.dsn, autocommit=True) as reader:
            ((self._sender,),) = reader.execute("select pid from pg_stat_replication").fetchall()
        os.kill(self._sender, signal.SIGSTOP)

    def kill_primary(self) -> None:
        """As a machine that loses its power: no word to anybody, and nothing of it goes on.

        A backend that outlives the postmaster may wait for ever for one that has died, and with it
        the handler that has asked it.
        """
        postmaster = psutil.Process(self.primary.pid)
        for process in (postmaster, *postmaster.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def promote(self) -> None:
        """The standby is the primary from now on, and may be written to at return."""
        self._program(self.standby, "pg_ctl", "promote", "-w", "-D", str(self.standby.data))

    def _program(self, server: Server, name: str, *arguments: str) -> None:
        ran = subprocess.run(
            [str(server.bindir / name), *arguments],
            capture_output=True, text=True, check=False, timeout=60, stdin=subprocess.DEVNULL,
            **self._account.popen(),
        )  # fmt: skip
        assert ran.returncode == 0, ran.stdout + ran.stderr


def both(one: Server, other: Server, attributes: str) -> str:
    """An address of two servers."""
    hosts = ",".join(quote(str(server.directory), safe="") for server in (one, other))
    return (
        f"postgresql://postgres@/postgres?host={hosts}&port={PORT},{PORT}"
        f"&target_session_attrs={attributes}"
    )


@contextmanager
def paired(prefer: str | None) -> Iterator[Pair]:
    """A pair for the time of a test."""
    place = Path(tempfile.mkdtemp(prefix="emq-r-", dir="/tmp"))
    server_account().own(place)
    try:
        with ExitStack() as stack:
            yield Pair(place, prefer, stack)
    finally:
        shutil.rmtree(place)
