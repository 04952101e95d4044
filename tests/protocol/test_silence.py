"""A call on a connection that answers no more ends, and the link goes on with another one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from emq_sql.errors import Ambiguous, Retryable
from emq_sql.protocol.link import Link
from tests.plugins.databases import Database
from tests.plugins.proxy import Proxy, proxied


@pytest.fixture
def proxy(db: Database) -> Iterator[Proxy]:
    with proxied(db.dsn) as proxy:
        yield proxy


def linked(dsn: str, limit: float) -> Link:
    return Link(lambda: psycopg.connect(dsn, autocommit=True), "a link of the tests", limit)


def pid(conn: psycopg.Connection[Any]) -> int:
    return conn.info.backend_pid


def test_a_call_that_is_never_answered_ends_and_its_outcome_is_unknown(proxy: Proxy) -> None:
    link = linked(proxy.dsn, 0.5)
    first = link.call(pid)
    proxy.silence(b"select 'lost'")
    with pytest.raises(Ambiguous):
        link.call(lambda conn: conn.execute("select 'lost'"))
    assert link.call(pid) != first
    link.close()


def test_a_statement_that_is_merely_slow_is_cancelled_and_does_not_stay_on_the_server(
    db: Database,
) -> None:
    link = linked(db.dsn, 0.5)
    first = link.call(pid)
    with pytest.raises(Retryable):
        link.call(lambda conn: conn.execute("select pg_sleep(600)"))
    assert link.call(pid) == first
    link.close()


def test_a_link_in_a_hurry_ends_the_call_that_is_under_way(proxy: Proxy) -> None:
    link = linked(proxy.dsn, 600)
    link.call(pid)
    proxy.silence(b"select 'lost'")
    caught: list[Exception] = []

    def call() -> None:
        try:
            link.call(lambda conn: conn.execute("select 'lost'"))
        except Ambiguous as error:
            caught.append(error)

    caller = threading.Thread(target=call, daemon=True)
    caller.start()
    assert proxy.lost.wait(20)
    link.hurry(0.5)
    caller.join(20)
    assert len(caught) == 1
    link.close()
