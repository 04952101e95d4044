"""A private PostgreSQL server that lives exactly as long as the process that started it."""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from emq_sql.embedded import pidfile
from emq_sql.embedded.account import Account, server_account
from emq_sql.embedded.binaries import Binaries, find
from emq_sql.embedded.supervision import Supervision
from emq_sql.errors import BadSetting, ServerDidNotStart

Setting = str | int | bool

ROLE = "postgres"
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
        timeout: float = 60,
    ) -> None:
        account = server_account()
        found = find(prefer, account=account)
        settings = _settings(options or {}, durable, prepared_transactions, port)
        order = _order(
            found,
            account,
            settings,
            data=Path(data).absolute() if data is not None else None,
            durable=durable,
            timeout=timeout,
        )
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
        self.dsn = f"postgresql://{ROLE}@/postgres?host={self.directory}&port={port}"

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


def _order(
    found: Binaries,
    account: Account,
    settings: list[str],
    *,
    data: Path | None,
    durable: bool,
    timeout: float,
) -> dict[str, object]:
    if data is not None:
        data.parent.mkdir(parents=True, exist_ok=True)
        if not account.may_enter(data.parent):
            raise ServerDidNotStart(
                f"The user that runs PostgreSQL cannot enter {data.parent}.",
                hint="Choose a directory that is open to it; nobody's home is opened for this.",
            )
        pidfile.drop_stale(data)
    return {
        "bindir": str(found.bindir),
        "uid": account.uid,
        "gid": account.gid,
        "data": data and str(data),
        "initdb": [*INITDB, *([] if durable else ["--no-sync"])],
        "settings": settings,
        "timeout": timeout,
    }
