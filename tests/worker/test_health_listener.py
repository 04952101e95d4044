"""Probes are answered over HTTP, whatever other clients do."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emq_sql.errors import BadSetting
from emq_sql.worker.health import listener as listening
from emq_sql.worker.health.condition import LIVE_WITHIN, Bounds
from emq_sql.worker.health.listener import LONGEST_HEAD, MOST_CLIENTS, Listener, respond
from emq_sql.worker.health.report import Facts, Reporter
from emq_sql.worker.loops import Loop
from emq_sql.worker.pulse import Pulse

FACTS = Facts("host:1:ab", ("default",), "threads", 4, {"emq_sql": "0"})


@dataclass
class Probed:
    """A listener on a port of its own, and the pulse that it reads."""

    port: int
    pulse: Pulse
    loop: Loop

    def ask(self, method: str, path: str) -> tuple[int, str, http.client.HTTPResponse]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        with contextlib.closing(connection):
            connection.request(method, path)
            response = connection.getresponse()
            return response.status, response.read().decode(), response

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)


@pytest.fixture
def probed() -> Iterator[Probed]:
    pulse = Pulse()
    report = Reporter(FACTS, pulse, Bounds(LIVE_WITHIN, LIVE_WITHIN))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        loop = Loop("health", Listener(taken, report, pulse), pulse, pytest.fail)
        loop.start()
        try:
            yield Probed(taken.getsockname()[1], pulse, loop)
        finally:
            loop.stop(10)


def test_each_question_has_its_status(probed: Probed) -> None:
    assert probed.ask("GET", "/live")[:2] == (200, "live\n")
    assert probed.ask("GET", "/ready")[:2] == (503, "not ready: nothing was claimed yet\n")
    probed.pulse.claims()
    assert probed.ask("GET", "/ready?verbose=1")[:2] == (200, "ready\n")
    probed.pulse.ends("upkeep", failed=True)
    assert probed.ask("GET", "/live")[:2] == (
        503, "not live: the loop upkeep could not be kept alive\n",
    )  # fmt: skip


def test_everything_is_one_json_document(probed: Probed) -> None:
    probed.pulse.beat("keeper", 1.0, "no route to \x1b[31m\n\N{SNOWMAN}")
    status, text, response = probed.ask("GET", "/")
    assert (status, response.headers["content-type"]) == (200, "application/json")
    document = json.loads(text)
    assert document["worker"] == "host:1:ab"
    assert document["loops"]["keeper"]["trouble"].endswith("\N{SNOWMAN}")
    assert text.isascii() and text.removesuffix("\n").isprintable()


def test_other_paths_and_methods_are_refused(probed: Probed) -> None:
    assert probed.ask("GET", "/metrics")[0] == 404
    status, _, response = probed.ask("DELETE", "/live")
    assert (status, response.headers["allow"]) == (405, "GET, HEAD")
    assert probed.ask("HEAD", "/live")[:2] == (200, "")


def test_slow_and_rude_clients_are_cut_off_and_delay_nobody(
    probed: Probed, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = [probed.connect() for _ in range(MOST_CLIENTS // 2)]
    dripping = probed.connect()
    drip_until_cut = threading.Thread(target=drip, args=(dripping,), daemon=True)
    drip_until_cut.start()
    for words in (b"\x16\x03\x01\x00\xa5\r\n\r\n", b"GET /live\r\n\r\n", b"x" * 3 * LONGEST_HEAD):
        with probed.connect() as rude:
            with contextlib.suppress(OSError):
                rude.sendall(words)
            assert probed.ask("GET", "/live")[0] == 200
    gone = probed.connect()
    gone.sendall(b"GET / HTTP/1.1\r\n\r\n")
    gone.close()  # without reading the answer
    assert probed.ask("GET", "/live")[0] == 200
    for each in silent:
        with each, contextlib.suppress(ConnectionResetError):
            assert each.recv(1) == b"", "cut off, and nothing was said"
    drip_until_cut.join(30)
    assert not drip_until_cut.is_alive()
    assert probed.ask("GET", "/live")[0] == 200


def test_more_clients_than_there_may_be_are_cut_off_at_once(probed: Probed) -> None:
    crowd = [probed.connect() for _ in range(MOST_CLIENTS + 20)]
    until = time.monotonic() + 30
    while (status := asked(probed)) != 200:
        assert time.monotonic() < until, status
    for each in crowd:
        each.close()


def test_a_listener_that_is_started_again_answers_again(probed: Probed) -> None:
    def breaks(*_: object) -> None:
        raise RuntimeError("the listener breaks on purpose")

    original, probed.pulse.beat = probed.pulse.beat, breaks  # type: ignore[method-assign]
    until = time.monotonic() + 30
    while not probed.pulse.reading().loops["health"].restarts:
        assert time.monotonic() < until
        time.sleep(0.01)
    probed.pulse.beat = original  # type: ignore[method-assign]
    while asked(probed) != 200:
        assert time.monotonic() < until


@given(st.binary(max_size=200))
def test_any_request_has_a_response_that_is_http(head: bytes) -> None:
    report = Reporter(FACTS, Pulse(), Bounds(LIVE_WITHIN, LIVE_WITHIN))
    response = respond(head, report)
    assert response.startswith(b"HTTP/1.1 ")
    lines, _, body = response.partition(b"\r\n\r\n")
    (length,) = (line for line in lines.split(b"\r\n") if line.startswith(b"Content-Length"))
    assert not body or int(length.split()[1]) == len(body)


@pytest.mark.parametrize(
    ("host", "port"), [("127.0.0.1", 0), ("127.0.0.1", -1), ("127.0.0.1", 65536),
                       ("192.0.2.1", 18000), ("no.such.host.invalid", 18000), ("a" * 300, 18000)],
)  # fmt: skip
def test_a_port_that_cannot_be_had_is_refused(host: str, port: int) -> None:
    with pytest.raises(BadSetting, match="health port"):
        listening.open_socket(host, port)


def test_a_port_that_is_taken_is_refused() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(BadSetting, match=r"Address already in use\. Is it in use"),
    ):
        listening.open_socket("127.0.0.1", taken.getsockname()[1])


def drip(client: socket.socket) -> None:
    """One byte of an endless head at a time, until the other side has had enough."""
    with client, contextlib.suppress(OSError):
        client.sendall(b"GET /live HTTP/1.1\r\nX: ")
        while True:
            client.sendall(b"x")
            time.sleep(0.05)


def asked(probed: Probed) -> int:
    try:
        return probed.ask("GET", "/live")[0]
    except (OSError, http.client.HTTPException):
        return 0
