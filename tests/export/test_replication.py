"""The other way off the machine: the archive is replicated, and kept there when it goes here.

What docs/howto/export-history.md says is run here as it stands there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from emq_sql.embedded import Server, start
from emq_sql.errors import EmbeddedError
from emq_sql.protocol import steps
from tests.export.days import filled
from tests.plugins.own_server import kind_of
from tests.plugins.running import PgServer
from tests.protocol.calls import Ledger

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "export-history.md"
NEWEST = 18
ENOUGH = {"wal_level": "logical", "max_connections": 20}


def statements(beginning: str) -> str:
    """The block of SQL on the page that begins like this."""
    blocks = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.S)
    (found,) = [block for block in blocks if block.startswith(beginning)]
    return str(found)


@pytest.fixture
def servers(pg_server: PgServer) -> Iterator[tuple[Server, Server]]:
    """One that has the ledger, and one that is to have its history."""
    if pg_server.major < NEWEST and not os.environ.get("EMQ_SQL_EXPORT_KILLS"):
        pytest.skip("two servers are started once a run of the suite; make export does it on any")
    try:
        kind = kind_of(pg_server)
        with start(options=ENOUGH, prefer=kind) as source, start(prefer=kind) as target:
            yield source, target
    except EmbeddedError as error:
        pytest.skip(f"no servers of its own: {error}")


def test_history_is_replicated_and_outlives_its_partition(servers: tuple[Server, Server]) -> None:
    source, target = servers
    with (
        psycopg.connect(source.dsn, autocommit=True) as there,
        psycopg.connect(target.dsn, autocommit=True) as here,
    ):
        steps.upgrade(there)
        ledger, copy = Ledger(there), Ledger(here)
        ledger.rows("select emq.archive_days(3)")
        there.execute(statements("-- On the ledger").encode())
        here.execute(statements("-- On the other").encode())
        subscribe = statements("create subscription").replace("host=ledger dbname=app", source.dsn)
        here.execute(subscribe.encode())
        copy.wait("not exists (select from pg_subscription_rel where srsubstate <> 'r')")
        done = ledger.start()
        ledger.complete(done, results=['{"sent": true}'])
        copy.wait("count(*) = 1 from emq.archive")
        copy.wait("count(*) = 1 from emq.job")
        assert copy.row("select id, result from emq.archive") == (done.id, {"sent": True})
        assert copy.one("select payload from emq.job") == done.payload
        copy.run("alter subscription emq_history disable")  # it is away while a day comes and goes
        day = filled(ledger, 10, 3)
        while ledger.retire(day)[0] != "dropped":
            pass
        assert ledger.one("select count(*) from emq.archive") == 1
        copy.run("alter subscription emq_history enable")
        copy.wait("count(*) = 4 from emq.archive")
        copy.wait("count(*) = 4 from emq.job")
        (slot,) = there.execute(statements("select slot_name").encode()).fetchall()
        assert slot[:3] == ("emq_history", True, "reserved")
        copy.run("drop subscription emq_history")
        assert ledger.one("select count(*) from pg_replication_slots") == 0
