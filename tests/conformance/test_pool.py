"""Pool: many connections, one queue."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from sqlalchemy.pool import QueuePool

from emq_sql.app import EMQ
from emq_sql.minting import new_id
from tests.conformance.client import Client
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger


def test_pool_enqueue_an_id_added_over_many_pooled_connections_is_one_job(
    db: Database, ledger: Ledger
) -> None:
    """Of the Python package: its pool is SQLAlchemy's."""
    emq = EMQ(db.dsn)
    task = emq.task(lambda: None, name="t", queue="q")
    assert isinstance(emq.engine.pool, QueuePool)
    id = new_id()
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda _: task.using(job_id=id).enqueue(), range(8)))
    emq.engine.dispose()
    assert sorted(answer.status for answer in answers) == ["duplicate"] * 7 + ["enqueued"]
    assert ledger.one("select count(*) from emq.pending") == 1


def test_pool_order_is_the_same_whichever_connections_add_and_claim(client: Client) -> None:
    sessions = [client, client.again("second"), client.again("third")]
    added = [sessions[i % 3].add()[0] for i in range(9)]
    claimed = [sessions[-i % 3].take().id for i in range(9)]
    assert claimed == added
