"""A prepared transaction outlives its session and the server; no floor may rise over its job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from emq_sql.embedded import start
from emq_sql.embedded.server import Server
from tests.mutants.rendering import Change, install
from tests.plugins.running import PgServer
from tests.protocol.calls import Ledger

# After a restart a prepared transaction holds its locks under the name -1/xid.
ONLY_THE_NAMES_OF_BEFORE = Change("maintain", " or l.virtualtransaction like '-1/%'")


@pytest.fixture
def server(pg_server: PgServer) -> Iterator[Server]:
    """A server of this test's own, which it may restart."""
    if pg_server.choice not in ("embedded", "system", "bindir"):
        pytest.skip(f"the server is not ours to restart ({pg_server.choice})")
    prefer = None if pg_server.choice == "bindir" else pg_server.choice
    with start(prepared_transactions=5, prefer=prefer) as own:
        yield own


def is_found(server: Server, *changes: Change) -> bool:
    """Whether the job of a transaction prepared before a restart is claimed once it commits."""

    def session(*, autocommit: bool = True) -> closing[psycopg.Connection[Any]]:
        return closing(psycopg.connect(server.dsn, autocommit=autocommit))

    with session() as conn:
        install(conn, *changes)
    with session(autocommit=False) as conn:
        prepared = Ledger(conn).add_one()
        conn.execute("prepare transaction 'slow'")
    with session() as conn:
        Ledger(conn).add(5)  # so that the mark is above the prepared job's place
        Ledger(conn).maintain()  # lists who is open, by the names of now
    server.restart()
    with session() as conn:
        ledger = Ledger(conn)
        for _ in range(5):
            ledger.add(2)
            ledger.maintain()
            ledger.complete(*ledger.claim(10))
        ledger.run("commit prepared 'slow'")
        return [held.id for held in ledger.claim(10)] == [prepared]


def test_a_job_prepared_before_a_restart_is_found_after_its_commit(server: Server) -> None:
    assert is_found(server)


def test_this_would_notice_a_floor_that_forgets_it(server: Server) -> None:
    assert not is_found(server, ONLY_THE_NAMES_OF_BEFORE)
