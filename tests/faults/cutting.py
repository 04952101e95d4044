"""A proxy in front of PostgreSQL that breaks a conversation before or after a message of choice."""

from __future__ import annotations

import contextlib
import selectors
import shutil
import socket
import struct
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from tests.plugins.databases import url

_CHUNK = 65536
_TO_SERVER = {
    "B": "Bind", "C": "Close", "D": "Describe", "d": "CopyData", "c": "CopyDone", "E": "Execute",
    "H": "Flush", "P": "Parse", "p": "Password", "Q": "Query", "S": "Sync", "X": "Terminate",
}  # fmt: skip
_TO_CLIENT = {
    "1": "ParseComplete", "2": "BindComplete", "3": "CloseComplete", "C": "CommandComplete",
    "D": "DataRow", "E": "ErrorResponse", "K": "BackendKeyData", "N": "NoticeResponse",
    "R": "Authentication", "S": "ParameterStatus", "T": "RowDescription", "Z": "ReadyForQuery",
    "n": "NoData", "I": "EmptyQueryResponse", "s": "PortalSuspended", "t": "ParameterDescription",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a conversation breaks: its messages are counted from 1, in both directions together."""

    at: int
    after: bool  # the message itself still goes through

    def __str__(self) -> str:
        return f"{'after' if self.after else 'before'} message {self.at}"


class Cutter:
    """Listens on a Unix socket of its own; `dsn` reaches the same database through it.

    From `listen` on messages are counted, and named in `heard`. A `cut` breaks the connection of
    its message, once: the other connections, and those that come after it, are whole.
    """

    def __init__(self, dsn: str, directory: Path) -> None:
        parts = {k: str(v) for k, v in conninfo_to_dict(dsn).items() if v is not None}
        self._target = (parts["host"], int(parts.get("port") or 5432))
        said = parts | {"host": str(directory)}
        self.dsn = url(" ".join(f"{k}='{v}'" for k, v in said.items()), parts["dbname"])
        self.heard: list[str] = []
        self.was_cut = threading.Event()
        self._listening = False
        self._cut: Cut | None = None
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(directory / f".s.PGSQL.{self._target[1]}"))
        self._listener.listen(50)
        threading.Thread(target=self._accept, daemon=True).start()

    def listen(self, cut: Cut | None = None) -> None:
        """The next message is the first one of the conversation."""
        with self._lock:
            self.heard.clear()
            self._cut, self._listening = cut, True

    def stop(self) -> None:
        """The conversation is over: no message counts, and none is cut."""
        with self._lock:
            self._listening = False

    def close(self) -> None:
        """Break everything."""
        for each in (self._listener, *self._open):
            _break(each)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = self._reach()
                self._open += [client, server]
                threading.Thread(target=self._pass_on, args=(client, server), daemon=True).start()

    def _reach(self) -> socket.socket:
        host, port = self._target
        if not host.startswith("/"):
            return socket.create_connection((host, port))
        server = socket.socket(socket.AF_UNIX)
        server.connect(f"{host}/.s.PGSQL.{port}")
        return server

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        to_server, to_client = _Messages(_TO_SERVER, starts=True), _Messages(_TO_CLIENT)
        ways = {client: (server, to_server), server: (client, to_client)}
        with contextlib.suppress(OSError), selectors.DefaultSelector() as selector:
            for each in ways:
                selector.register(each, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    source: socket.socket = key.fileobj  # type: ignore[assignment]
                    target, messages = ways[source]
                    data = source.recv(_CHUNK)
                    if not data or not self._all_passed(messages, data, target):
                        return _break(client, server)
        return _break(client, server)

    def _all_passed(self, messages: _Messages, data: bytes, target: socket.socket) -> bool:
        for name, message in messages.of(data):
            cut = self._count(name)
            if cut is None or cut.after:
                target.sendall(message)
            if cut is not None:
                return False
        return True

    def _count(self, name: str) -> Cut | None:
        """The cut, if this is its message."""
        with self._lock:
            if not self._listening:
                return None
            self.heard.append(name)
            if self._cut is None or self._cut.at != len(self.heard):
                return None
            cut, self._cut = self._cut, None
        self.was_cut.set()
        return cut


class _Messages:
    """Puts the bytes of one direction together again."""

    def __init__(self, names: dict[str, str], *, starts: bool = False) -> None:
        self._names = names
        self._starts = starts  # the first message of a client has no letter
        self._left = b""

    def of(self, data: bytes) -> Iterator[tuple[str, bytes]]:
        self._left += data
        while True:
            head = 0 if self._starts else 1
            if len(self._left) < head + 4:
                return
            (length,) = struct.unpack_from("!I", self._left, head)
            end = head + length
            if len(self._left) < end:
                return
            message, self._left = self._left[:end], self._left[end:]
            letter = chr(message[0])
            name = "Startup" if self._starts else self._names.get(letter, letter)
            self._starts = False
            yield name, message


@contextmanager
def cutter(dsn: str) -> Iterator[Cutter]:
    """One for the time of a conversation, in a directory whose path is short enough."""
    directory = Path(tempfile.mkdtemp(prefix="emq-c-"))
    made = Cutter(dsn, directory)
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(directory)


def _break(*sockets: socket.socket) -> None:
    for each in sockets:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()
