"""A proxy in front of PostgreSQL that loses chosen replies, or stops passing anything on."""

from __future__ import annotations

import contextlib
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from tests.plugins.databases import url

READY = b"Z\x00\x00\x00\x05I"  # ReadyForQuery, idle: the transaction has ended
# A worker's claim: bound in the unnamed portal, and the first statement that its connection has
# prepared. Its text is sent once, to be prepared, when nothing is claimed yet.
CLAIM = b"\0_pg3_0\0"
COMPLETION = (b"emq.complete(", b"\0_pg3_1\0")  # by itself, or with a claim: prepared second
_CHUNK = 65536


class Proxy:
    """Listens on a Unix socket of its own; `dsn` reaches the same database through it.

    `lose_reply_to(needle)`: the next statement that contains the needle reaches the server and is
    answered, its transaction has ended, and then the connection breaks instead of the answer.
    `silence(needle)`: that statement and all that follows on its connection, either way, is lost,
    and nobody is told; other connections go on.
    `hush`: the same for all connections that are open now, at once.
    `freeze` and `thaw`: nothing passes either way, and nobody is told.
    `aim` sends new connections elsewhere; `turned_away` counts those that found no server there.
    """

    def __init__(self, dsn: str, directory: Path) -> None:
        parts = {k: v for k, v in conninfo_to_dict(dsn).items() if v is not None}
        self.turned_away = 0
        self.aim(dsn)
        port = parts.get("port") or "5432"
        self.dsn = url(
            " ".join(f"{k}='{v}'" for k, v in (parts | {"host": str(directory)}).items()),
            str(parts["dbname"]),
        )
        self.lost = threading.Event()
        self._needles: tuple[bytes, ...] = ()
        self._last_words: bytes | None = None
        self._passing = threading.Event()
        self._passing.set()
        self._sockets: list[socket.socket] = []
        self._silent: list[threading.Event] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(directory / f".s.PGSQL.{port}"))
        self._listener.listen(50)
        threading.Thread(target=self._accept, daemon=True).start()

    def aim(self, dsn: str) -> None:
        """From now on new connections go to this server; those that are open stay."""
        parts = conninfo_to_dict(dsn)
        self._target = (str(parts["host"]), int(parts.get("port") or 5432))

    def lose_reply_to(self, *needles: bytes) -> None:
        """Arm it for one statement, the first with one of these; `lost` is set when it happened."""
        self.lost.clear()
        self._needles = needles

    def silence(self, needle: bytes) -> None:
        """Arm it for one connection; `lost` is set when it has fallen silent."""
        self.lost.clear()
        self._last_words = needle

    def hush(self) -> None:
        """What is sent from now on over the connections that are open is lost; new ones work."""
        for silent in self._silent:
            silent.set()

    def freeze(self) -> None:
        """From now on bytes stay where they are."""
        self._passing.clear()

    def thaw(self) -> None:
        """They go on, none lost."""
        self._passing.set()

    def cut(self) -> None:
        """Break what is open; new connections are let through."""
        sockets, self._sockets = self._sockets, []
        for each in sockets:
            _break(each)

    def close(self) -> None:
        """Break everything."""
        self._passing.set()
        _break(self._listener)
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = self._reach()
            except OSError:
                client.close()
                self.turned_away += 1
                continue
            self._sockets += [client, server]
            swallow, silent = threading.Event(), threading.Event()
            self._silent.append(silent)
            for pump in (self._to_server, self._to_client):
                threading.Thread(
                    target=pump, args=(client, server, swallow, silent), daemon=True
                ).start()

    def _reach(self) -> socket.socket:
        host, port = self._target
        if not host.startswith("/"):
            return socket.create_connection((host, port))
        server = socket.socket(socket.AF_UNIX)
        server.connect(f"{host}/.s.PGSQL.{port}")
        return server

    def _to_server(
        self, client: socket.socket, server: socket.socket, swallow: threading.Event,
        silent: threading.Event,
    ) -> None:  # fmt: skip
        with contextlib.suppress(OSError):
            while data := client.recv(_CHUNK):
                self._passing.wait()
                if self._last_words is not None and self._last_words in data:
                    self._last_words = None
                    silent.set()
                    self.lost.set()
                if silent.is_set():
                    continue
                if any(needle in data for needle in self._needles):
                    self._needles = ()
                    swallow.set()
                server.sendall(data)
        _break(server)

    def _to_client(
        self, client: socket.socket, server: socket.socket, swallow: threading.Event,
        silent: threading.Event,
    ) -> None:  # fmt: skip
        swallowed = b""
        with contextlib.suppress(OSError):
            while data := server.recv(_CHUNK):
                self._passing.wait()
                if silent.is_set():
                    continue
                if not swallow.is_set():
                    client.sendall(data)
                    continue
                swallowed += data
                if swallowed.endswith(READY):
                    break
        _break(client)
        _break(server)
        if swallowed:
            self.lost.set()


@contextmanager
def proxied(dsn: str) -> Iterator[Proxy]:
    """A proxy for the time of a test, in a directory whose path is short enough for a socket."""
    directory = Path(tempfile.mkdtemp(prefix="emq-p-"))
    proxy = Proxy(dsn, directory)
    try:
        yield proxy
    finally:
        proxy.close()
        shutil.rmtree(directory)


def _break(each: socket.socket) -> None:
    with contextlib.suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
