"""A PostgreSQL for development that keeps its data and outlives the command that started it.

    DIR/data   the data          DIR/log    what the server said
    DIR/run    its socket        DIR/lock   held while a command starts or stops it

Where libpq could not reach a socket (a path of more than 107 bytes, a comma) it is in a directory
of mode 0700 in /tmp instead, which `dsn` finds by postmaster.pid.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from emq_sql.embedded import pidfile
from emq_sql.embedded.account import Account, server_account
from emq_sql.embedded.binaries import find
from emq_sql.embedded.server import Server, holds_sockets, socket_dsn
from emq_sql.errors import EmbeddedError, ServerDidNotStart, ServerDidNotStop

PORT = 5432
_PATIENCE = 60
# Where root's server lives when the account that runs it cannot enter root's home.
_FOR_ROOT = Path("/var/lib/emq_sql")


@dataclass(frozen=True, slots=True)
class DevDb:
    """The development server of one directory: dsn is None while it does not run."""

    directory: Path
    dsn: str | None = None
    pid: int | None = None
    version: str | None = None
    started: bool = False


def status(directory: Path | None = None) -> DevDb:
    """Whether it runs, and where; changes nothing.

    Raises EmbeddedError when no directory is given and platformdirs is not installed.
    """
    place = _place(directory)
    data = place / "data"
    with _told_plainly(place):
        found = pidfile.read(data)
    if found.status != "ready" or not pidfile.is_running(data):
        return DevDb(place)
    dsn = socket_dsn(Path(found.directory), found.port)
    return DevDb(place, dsn, found.pid, (data / "PG_VERSION").read_text().strip())


def start(directory: Path | None = None) -> DevDb:
    """Start it, or find it running; `started` says which. It runs until it is stopped.

    The first start makes the data, with PostgreSQL's own durable settings. Safe to call from
    several processes at once. Raises NoServerBinaries, ServerDidNotStart, UnsupportedPlatform.
    """
    account = server_account()
    place = _place(directory)
    with _told_plainly(place):
        account.make_directory(place)
    if not account.may_enter(place):
        raise ServerDidNotStart(
            f"The user that runs PostgreSQL cannot enter {place}.",
            hint="Choose a directory that is open to it with --dir; none is opened for this.",
        )
    with _locked(place):
        running = status(place)
        if running.dsn is None:
            with _told_plainly(place):
                _launch(place, account)
            running = status(place)
            if running.dsn is None:
                raise ServerDidNotStart(f"The server ended at once. {_end_of_log(place)}")
            return DevDb(place, running.dsn, running.pid, running.version, started=True)
        return running


def stop(directory: Path | None = None) -> bool:
    """Stop it by a fast shutdown and wait until it is down; False when it did not run.

    The data stay. Raises ServerDidNotStop when it is still up after a minute.
    """
    place = _place(directory)
    data = place / "data"
    if not place.is_dir():
        return False
    with _locked(place):
        if not pidfile.is_running(data):
            return False
        found = pidfile.read(data)
        with contextlib.suppress(ProcessLookupError):
            os.kill(found.pid, signal.SIGINT)
        deadline = time.monotonic() + _PATIENCE
        while pidfile.is_running(data):
            if time.monotonic() > deadline:
                raise ServerDidNotStop(
                    f"The server with pid {found.pid} still runs after {_PATIENCE} seconds.",
                    hint=f"Its log is {place / 'log'}.",
                )
            time.sleep(0.02)
        _forget_socket_directory(Path(found.directory), place)
        return True


def default_directory() -> Path:
    """The user's data directory; for root /var/lib/emq_sql where the server cannot enter that."""
    try:
        import platformdirs  # noqa: PLC0415  an extra, needed only here
    except ImportError as missing:
        raise _extra_is_missing("platformdirs") from missing
    usual = Path(platformdirs.user_data_path("emq_sql"))
    account = server_account()
    if account.uid is not None and not account.may_enter(_existing(usual)):
        usual = _FOR_ROOT
    return usual / "dev-db"


def _place(directory: Path | None) -> Path:
    # Resolved: a running server is recognised by the path of its data.
    return (directory if directory is not None else default_directory()).resolve()


def _existing(path: Path) -> Path:
    return path if path.exists() else _existing(path.parent)


def _extra_is_missing(name: str) -> EmbeddedError:
    return EmbeddedError(
        f"{name} is not installed.", hint="Install it with `pip install emq-sql[embedded]`."
    )


@contextlib.contextmanager
def _locked(place: Path) -> Iterator[None]:
    try:
        import filelock  # noqa: PLC0415  an extra, needed only here
    except ImportError as missing:
        raise _extra_is_missing("filelock") from missing
    lock = filelock.FileLock(place / "lock")
    try:
        with _told_plainly(place):
            lock.acquire(timeout=2 * _PATIENCE)
    except filelock.Timeout as taken:
        raise EmbeddedError(f"Another command holds {place / 'lock'}: try again.") from taken
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def _told_plainly(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as refused:  # closed, no directory, read-only, full ...
        raise EmbeddedError(
            f"{place} cannot be used by this user: {refused.strerror or refused}.",
            hint="Choose another directory with --dir.",
        ) from refused


def _launch(place: Path, account: Account) -> None:
    data, log = place / "data", place / "log"
    if not (data / "PG_VERSION").exists():
        # A server of our own makes the data, so that an interruption leaves nothing half made.
        Server(data, durable=True).stop()
    pidfile.drop_stale(data, alone=True)
    socket = _socket_directory(place, account)
    log.touch(mode=0o600)
    account.own(log)
    settings = {
        "listen_addresses": "",
        "port": PORT,
        "unix_socket_directories": f'"{socket}"',  # quoted: a list, split at commas
        "unix_socket_permissions": "0700",
    }
    flags = " ".join(f"-c {shlex.quote(f'{name}={value}')}" for name, value in settings.items())
    binaries = find(account=account)
    command = [str(binaries.bindir / "pg_ctl"), "start", "-D", str(data), "-l", str(log)]
    try:
        started = subprocess.run(
            [*command, "-w", "-t", str(_PATIENCE), "-o", flags],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            **account.popen(),
        )
    except BaseException:
        if pidfile.is_running(data):  # Ctrl-C reached pg_ctl and not the server
            os.kill(pidfile.read(data).pid, signal.SIGINT)
        raise
    if started.returncode != 0:
        _forget_socket_directory(socket, place)
        raise ServerDidNotStart(f"{started.stderr.strip()} {_end_of_log(place)}")


def _socket_directory(place: Path, account: Account) -> Path:
    socket = place / "run"
    if not holds_sockets(socket, PORT):
        socket = Path(tempfile.mkdtemp(prefix="emq-", dir="/tmp"))
    socket.mkdir(mode=0o700, exist_ok=True)
    account.own(socket)
    return socket


def _forget_socket_directory(socket: Path, place: Path) -> None:
    if socket.parent != place:
        with contextlib.suppress(OSError):
            socket.rmdir()


def _end_of_log(place: Path) -> str:
    return "The end of its log:\n" + (place / "log").read_text(errors="replace")[-4096:]
