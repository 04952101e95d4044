"""Answers probes over HTTP: /live, /ready, and / with everything as JSON."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable

from emq_sql.errors import BadSetting
from emq_sql.worker.health.report import Report
from emq_sql.worker.pulse import Pulse

BEAT = 1.0
PATIENCE = 2.0  # seconds for one client, from its first byte to our last
MOST_CLIENTS = 100
LONGEST_HEAD = 8192  # bytes

_REASONS = {
    200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed",
    503: "Service Unavailable",
}  # fmt: skip


def open_socket(host: str, port: int) -> socket.socket:
    """Where probes will come in; made before anything is claimed. Raises BadSetting."""
    if not 1 <= port <= 65535:
        what = f"The health port is {port}; a port is a number from 1 to 65535."
        raise BadSetting(what, hint="Choose a free one above 1023.")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except (OSError, UnicodeError) as error:
        number = getattr(error, "errno", None)
        why = os.strerror(number) if number is not None and number > 0 else error
        raise BadSetting(
            f"The health port {port} of {host!r} cannot be listened on: {why}.",
            hint="Is it in use? Give a free one, and an address of this machine.",
        ) from error


class Listener:
    """One thread and one event loop for all clients, and nothing else runs in it.

    A client has two seconds and eight kilobytes, and there are a hundred at most: whoever is slow,
    or says something else than HTTP, is cut off.
    """

    def __init__(
        self, listening: socket.socket, report: Callable[[], Report], pulse: Pulse
    ) -> None:
        self._socket = listening
        self._report = report
        self._pulse = pulse
        self._stopped = False
        self._clients = 0

    def stop(self) -> None:
        """Let `run` return within a second."""
        self._stopped = True

    def run(self) -> None:
        """Until `stop`."""
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._meet, sock=self._socket.dup(), limit=LONGEST_HEAD)
        try:
            while not self._stopped:
                self._pulse.beat("health", BEAT)
                await asyncio.sleep(BEAT / 4)
        finally:
            server.close()

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._clients >= MOST_CLIENTS:
            writer.transport.abort()
            return
        self._clients += 1
        try:
            async with asyncio.timeout(PATIENCE):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(respond(head, self._report))
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        except asyncio.LimitOverrunError:
            writer.write(_response(400, "too long\n"))
            writer.close()
        except (OSError, EOFError, TimeoutError):
            writer.transport.abort()
        finally:
            self._clients -= 1


def respond(head: bytes, report: Callable[[], Report]) -> bytes:
    """The whole response to a request, of which only the first line matters."""
    words = head.split(b"\r\n", 1)[0].split(b" ")
    if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
        return _response(400, "this is not HTTP/1\n")
    method, path = words[0], words[1].split(b"?", 1)[0]
    if method not in {b"GET", b"HEAD"}:
        return _response(405, "only GET and HEAD\n", "Allow: GET, HEAD\r\n")
    response = _page(path, report)
    return response if method == b"GET" else response.split(b"\r\n\r\n", 1)[0] + b"\r\n\r\n"


def _page(path: bytes, report: Callable[[], Report]) -> bytes:
    if path == b"/":
        return _response(200, report().as_json() + "\n", kind="application/json")
    if path in {b"/live", b"/ready"}:
        yes, line = report().says("live" if path == b"/live" else "ready")
        return _response(200 if yes else 503, line + "\n")
    return _response(404, "there are /live, /ready and /\n")


def _response(status: int, body: str, more: str = "", kind: str = "text/plain") -> bytes:
    content = body.encode("ascii", "backslashreplace")
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: {kind}\r\n"
        f"Content-Length: {len(content)}\r\nCache-Control: no-store\r\n{more}"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + content
