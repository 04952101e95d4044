"""A PgBouncer of the bench's own, in transaction mode, in front of the session's server."""

from __future__ import annotations

import os
import pwd
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from bench.compare.catalogue import Failed
from bench.compare.processes import Guarded
from bench.suite.stage import Base, Stage
from emq_sql.embedded.account import server_account

SESSIONS = 5  # of the server, for each database
_PORT = 6432
_PLACES = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))
_PATIENCE = 20.0


@contextmanager
def pooled(stage: Stage, base: Base) -> Iterator[str]:
    """The DSN of the database through a PgBouncer that lives as long as the block."""
    program = shutil.which("pgbouncer", path=_PLACES)
    if program is None:
        raise Failed("there is no pgbouncer (Debian and Ubuntu: apt-get install pgbouncer)")
    account = server_account()
    folder = Path(tempfile.mkdtemp(prefix="emq-pool-", dir="/tmp"))
    ini = folder / "ini"
    ini.write_text(_ini(base, folder, account.uid))
    for path in (folder, ini):
        account.own(path)
    bouncer = Guarded(
        [program, str(ini)], {"PATH": _PLACES}, folder, folder / "log", stage.left() + 30
    )
    try:
        host = quote(str(folder))
        dsn = f"postgresql://postgres@/{base.name}?host={host}&port={_PORT}"
        _until_open(dsn, bouncer)
        yield dsn
    finally:
        bouncer.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _ini(base: Base, folder: Path, uid: int | None) -> str:
    parts = conninfo_to_dict(base.server.dsn)
    section = {
        "pool_mode": "transaction",
        "default_pool_size": SESSIONS,
        "max_client_conn": 200,
        "listen_addr": "",
        "listen_port": _PORT,
        "unix_socket_dir": folder,
        "auth_type": "any",
        **({} if uid is None else {"user": pwd.getpwuid(uid).pw_name}),
    }
    server = f"host='{parts['host']}' port='{parts['port']}' user='{parts['user']}'"
    settings = "\n".join(f"{name} = {value}" for name, value in section.items())
    return f"[databases]\n* = {server}\n[pgbouncer]\n{settings}\n"


def _until_open(dsn: str, bouncer: Guarded) -> None:
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            psycopg.connect(dsn, prepare_threshold=None).close()
        except psycopg.OperationalError as error:
            bouncer.check()
            if time.monotonic() > until:
                raise Failed(f"PgBouncer does not answer: {error}") from error
            time.sleep(0.05)
        else:
            return
