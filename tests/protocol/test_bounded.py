"""The connection of commands: what is asked on it is answered in time, or ends."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from emq_sql.protocol import connecting
from emq_sql.protocol.bounded import BoundedConnection, NoAnswer, longer
from tests.plugins.databases import Database
from tests.plugins.proxy import Proxy, proxied


@pytest.fixture
def proxy(db: Database) -> Iterator[Proxy]:
    with proxied(db.dsn) as proxy:
        yield proxy


@pytest.fixture
def bounded(proxy: Proxy) -> Iterator[BoundedConnection]:
    conn = connecting.bounded(proxy.dsn, 0.5)
    yield conn
    conn.close()


def test_nothing_is_asked_any_more_on_a_connection_that_did_not_answer(
    proxy: Proxy, bounded: BoundedConnection
) -> None:
    proxy.silence(b"select 'lost'")
    for undone in (False, True):
        with pytest.raises(NoAnswer) as caught:
            psycopg.Cursor(bounded).execute("select 'lost'")
        assert caught.value.undone is undone


def test_what_is_cancelled_leaves_the_connection_to_be_used(bounded: BoundedConnection) -> None:
    with pytest.raises(NoAnswer) as caught, bounded.transaction():
        bounded.execute("select pg_sleep(600)")
    assert caught.value.undone
    assert bounded.execute("select 1").fetchone() == (1,)


def test_what_may_take_longer_is_not_cut_and_only_that(
    db: Database, bounded: BoundedConnection
) -> None:
    assert bounded.execute("select pg_sleep(0.3)").rowcount == 1
    with longer(bounded, None):
        assert bounded.execute("select pg_sleep(1.2)").rowcount == 1
    assert bounded.limit == 0.5
    with longer(bounded, 0.1):
        assert bounded.limit == 0.5
    with db.connect() as plain, longer(plain, 0.1):
        assert plain.execute("select 1").fetchone() == (1,)


def test_who_is_in_a_hurry_gets_the_answer_or_an_end(
    proxy: Proxy, bounded: BoundedConnection
) -> None:
    def hurry(_notice: psycopg.errors.Diagnostic) -> None:
        bounded.hurry(0.2)

    bounded.add_notice_handler(hurry)
    heard = "do $$ begin raise warning 'now'; perform pg_sleep({}); end $$"
    with bounded.within(None):
        bounded.execute(heard.format(0.0).encode())
        with pytest.raises(KeyboardInterrupt):
            bounded.execute(heard.format(600).encode())
        assert bounded.execute("select 1").fetchone() == (1,)


def test_dead_peers_are_found_by_the_kernel_unless_the_dsn_says_otherwise(db: Database) -> None:
    for more, idle in (("", "30"), ("&keepalives_idle=7", "7")):
        conn = connecting.bounded(db.dsn + more, 5)
        assert conn.info.get_parameters()["keepalives_idle"] == idle
        conn.close()
