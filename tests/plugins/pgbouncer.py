"""A PgBouncer of the test's own, in front of its database, for as long as the test runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from emq_sql.embedded.account import server_account
from tests.plugins.databases import Database, url

REQUIRED = "EMQ_SQL_REQUIRE_PGBOUNCER"
MISSING = "there is no pgbouncer (Debian and Ubuntu: apt-get install pgbouncer)"

_PORT = 6432
_PATIENCE = 20.0
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"

# The shell keeps PgBouncer and ends it when its own stdin ends: by us, or because we were killed.
_KEEP = '"$1" "$2" & child=$!; read -r _; kill -TERM $child; wait $child'


class PgBouncer:
    """Reached by a Unix socket of its own; `dsn` is the same database through it.

    `settings` are those of its `[pgbouncer]` section; without, it pools by transactions and has at
    most five sessions of the server.
    """

    def __init__(self, program: str, dsn: str, directory: Path, **settings: Any) -> None:
        self._program = program
        self._account = server_account()
        self._directory = directory
        self._keeper: subprocess.Popen[bytes] | None = None
        parts = {k: str(v) for k, v in conninfo_to_dict(dsn).items() if v is not None}
        self._write(parts, settings)
        self.direct = dsn
        through = {"host": str(directory), "port": str(_PORT), "user": parts.get("user", "any")}
        said = " ".join(f"{k}='{v}'" for k, v in through.items())
        self.dsn = url(said, parts["dbname"])
        self._console = url(said, "pgbouncer")
        self.start()

    def start(self) -> None:
        """Start it; ready at return."""
        (self._directory / f".s.PGSQL.{_PORT}").unlink(missing_ok=True)
        with (self._directory / "log").open("ab") as log:
            self._keeper = subprocess.Popen(
                ["/bin/sh", "-c", _KEEP, "sh", self._program, str(self._directory / "ini")],
                stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True,
                **self._account.popen(),
            )  # fmt: skip
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                self.ask("show version")
                return
            except psycopg.OperationalError:
                assert time.monotonic() < until, f"PgBouncer did not start:\n{self.log()}"
                time.sleep(0.02)

    def stop(self) -> None:
        """End it and every connection through it at once."""
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.communicate(timeout=_PATIENCE)

    def restart(self) -> None:
        """Stop it and start it again at the same address."""
        self.stop()
        self.start()

    def ask(self, command: str) -> list[dict[str, Any]]:
        """What its console answers, as rows by name: `show pools`, `pause`, `resume` ..."""
        factory: Any = psycopg.rows.dict_row
        with psycopg.connect(
            self._console, autocommit=True, prepare_threshold=None, row_factory=factory
        ) as console:
            # The console knows the simple protocol only.
            found = psycopg.ClientCursor(console, row_factory=factory).execute(command)
            return found.fetchall() if found.description else []

    def log(self) -> str:
        """What it has said so far."""
        return (self._directory / "log").read_text(errors="replace")

    def _write(self, parts: dict[str, str], settings: dict[str, Any]) -> None:
        keys = ("host", "port", "user", "password")
        server = " ".join(f"{key}='{parts[key]}'" for key in keys if key in parts)
        section = {
            "pool_mode": "transaction",
            "default_pool_size": 5,
            "max_client_conn": 200,
            "listen_addr": "",
            "listen_port": _PORT,
            "unix_socket_dir": self._directory,
            "auth_type": "any",
            **settings,
        }
        lines = [f"[databases]\n* = {server}\n[pgbouncer]"]
        lines += [f"{name} = {value}" for name, value in section.items()]
        ini = self._directory / "ini"
        ini.write_text("\n".join(lines) + "\n")
        for path in (self._directory, ini):
            self._account.own(path)


@contextmanager
def bounced(dsn: str, **settings: Any) -> Iterator[PgBouncer]:
    """A PgBouncer in front of this database; skips the test, or fails it, when there is none."""
    program = shutil.which("pgbouncer", path=_PATH)
    if program is None:
        if os.environ.get(REQUIRED):
            pytest.fail(f"{MISSING}, and {REQUIRED} is set")
        pytest.skip(MISSING)
    directory = Path(tempfile.mkdtemp(prefix="emq-b-", dir="/tmp"))
    bouncer = None
    try:
        bouncer = PgBouncer(program, dsn, directory, **settings)
        yield bouncer
    finally:
        if bouncer is not None:
            bouncer.stop()
        shutil.rmtree(directory)


@pytest.fixture
def pgbouncer(db: Database) -> Iterator[PgBouncer]:
    """PgBouncer in transaction mode in front of `db`: `.dsn`, `.direct`, `.restart()`."""
    with bounced(db.dsn) as bouncer:
        yield bouncer
