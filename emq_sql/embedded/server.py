"""A private PostgreSQL server that lives exactly as long as the process that started it."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Literal, Self
from urllib.parse import quote

from emq_sql.embedded import pidfile
from emq_sql.embedded.account import Account, server_account
from emq_sql.embedded.binaries import find
from emq_sql.embedded.supervision import Supervision
from emq_sql.errors import BadSetting, ServerDidNotStart

Setting = str | int | bool

ROLE = "postgres"
SOCKET_PATH_LIMIT = 103 if sys.platform == "darwin" else 107  # bytes
INITDB = ("-U", ROLE, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-instructions")

# Safe against a crash of the server, not of the machine: synchronous_commit stays on, so a commit
# that was acknowledged is still there after an immediate restart.
_FAST: dict[str, Setting] = {"fsync": False, "full_page_writes": False}
_OURS = frozenset({"unix_socket_directories", "port", "data_directory"})


class Server:
    """A running PostgreSQL, reached by a Unix socket in a directory of mode 0700.

    It is stopped, and everything temporary removed, by `stop()`, at the end of a `with` block,
    when the object is collected, at the exit of the interpreter, and when this process ends in any
    other way, kill -9 included. Only the process that started it stops it: in a child made by
    `os.fork` the object is inert and holds nothing that keeps the server alive. (A fork made by C
    code runs no Python hook; such a child keeps the server until it ends or replaces its program.)

    data          a directory to keep the data in, made when missing; None: thrown away at the end
    durable       PostgreSQL's own settings; the default gives up safety against a crash of the
                  machine (never of the server) for speed
    options       further settings of postgresql.conf by name
    prepared_transactions  max_prepared_transactions, 0 for none
    prefer        a kind or source of programs, as in `binaries.find`
    within        where the directory of the socket is made; short, because the path of a socket
                  has at most 107 bytes, and open to the user that runs the server
    timeout       seconds that the server may take to become ready

    Attributes: dsn (a libpq URL, superuser `postgres`, any process of this user or root), data,
    directory (of the socket), log, bindir, version ("18.6"), major, kind, pid (of the postmaster;
    another one after a restart).

    Raises NoServerBinaries, ServerDidNotStart (with the end of the log), BadSetting,
    UnsupportedPlatform; a start that fails or is interrupted leaves nothing behind.
    """

    pid: int

    def __init__(
        self,
        data: str | os.PathLike[str] | None = None,
        *,
        durable: bool = False,
        options: Mapping[str, Setting] | None = None,
        prepared_transactions: int = 0,
        prefer: str | None = None,
        port: int = 5432,
        within: str | os.PathLike[str] = "/tmp",  # noqa: S108  a new directory is made in it
        timeout: float = 60,
    ) -> None:
        account = server_account()
        found = find(prefer, account=account)
        settings = _settings(options or {}, durable, prepared_transactions, port)
        order: dict[str, object] = {
            "bindir": str(found.bindir),
            "uid": account.uid,
            "gid": account.gid,
            "within": _checked_place(Path(within), account, port),
            "data": _checked_data(Path(data).resolve(), account) if data is not None else None,
            "initdb": [*INITDB, *([] if durable else ["--no-sync"])],
            "settings": settings,
            "timeout": timeout,
        }
        self._supervision = supervision = Supervision(order)
        self._finalizer = weakref.finalize(self, supervision.shut)
        try:
            self.pid = supervision.hear()
        except BaseException:
            self._finalizer()
            raise
        self.bindir, self.version, self.kind = found.bindir, found.version, found.kind
        self.major = found.major
        self.directory, self.data = supervision.place, supervision.data
        self.log = self.directory / "log"
        self.dsn = socket_dsn(self.directory, port)

    def restart(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """Stop the server and start it on the same data, socket and port; ready at return.

        "immediate" is what a crash of the server looks like: no checkpoint, recovery at start. A
        server that is down already is only started. Raises ServerDidNotStart, after which the
        server is gone, with its data unless they were persistent.
        """
        if mode not in ("fast", "immediate"):
            raise BadSetting(f"A server restarts 'fast' or 'immediate', not {mode!r}.")
        self.pid = self._supervision.ask(f"restart {mode}")

    def stop(self) -> None:
        """Stop the server (fast shutdown) and remove what is temporary; twice does no harm."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.stop()


start = Server  # reads as what it does: `with start() as server:`


def socket_dsn(directory: Path, port: int) -> str:
    """The libpq URL of a server of ours, by the directory of its socket."""
    return f"postgresql://{ROLE}@/postgres?host={quote(str(directory))}&port={port}"


def holds_sockets(directory: Path, port: int) -> bool:
    """Whether libpq can reach a socket there: its path is short, and `host` is split at commas."""
    path = os.fsencode(directory / f".s.PGSQL.{port}")
    return len(path) <= SOCKET_PATH_LIMIT and b"," not in path


def _settings(
    options: Mapping[str, Setting], durable: bool, prepared_transactions: int, port: int
) -> list[str]:
    if clash := sorted(_OURS & set(options)):
        raise BadSetting(f"The embedded server sets {', '.join(clash)} itself.")
    merged: dict[str, Setting] = {
        "listen_addresses": "",
        "unix_socket_permissions": "0700",
        "max_prepared_transactions": prepared_transactions,
        **({} if durable else _FAST),
        **options,
        "port": port,
    }
    said = {True: "on", False: "off"}
    return [
        f"{name}={said[value] if isinstance(value, bool) else value}"
        for name, value in merged.items()
    ]


def _checked_place(within: Path, account: Account, port: int) -> str:
    if not holds_sockets(within.absolute() / "emq-12345678", port):
        raise BadSetting(
            f"libpq could not reach a socket under {within}: it takes no comma and no path of more "
            f"than {SOCKET_PATH_LIMIT} bytes.",
            hint="Choose a shorter directory.",
        )
    _refuse_if_closed(within, account)
    return str(within.absolute())


def _checked_data(data: Path, account: Account) -> str:
    try:
        account.make_directory(data.parent)
    except OSError as refused:
        raise ServerDidNotStart(f"{data.parent} cannot be made: {refused}.") from refused
    _refuse_if_closed(data.parent, account)
    pidfile.drop_stale(data)
    return str(data)


def _refuse_if_closed(directory: Path, account: Account) -> None:
    if not account.may_enter(directory):
        raise ServerDidNotStart(
            f"The user that runs PostgreSQL cannot enter {directory}.",
            hint="Choose a directory that is open to it; none is opened for this.",
        )
