"""What is found out at the start is said in a sentence, in time, and with the right exit code."""

from __future__ import annotations

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from emq_sql.protocol import steps
from tests.plugins.databases import Database
from tests.plugins.pgbouncer import bounced
from tests.plugins.proxy import proxied
from tests.service.conftest import Place, Worker

pytestmark = pytest.mark.faults


def start(place: Place, dsn: str) -> Worker:
    worker = Worker(dsn, place.folder, (), {})
    place.workers.append(worker)
    return worker


@pytest.mark.parametrize(
    ("last", "said"),
    [
        (b"standard_conforming_strings", "did not answer"),
        (b"has_function_priv", "No answer within"),
    ],
)
def test_a_server_that_falls_silent_at_the_start_ends_the_worker_with_a_sentence(
    place: Place, last: bytes, said: str
) -> None:
    """While the connection is opened, and in the checks."""
    with proxied(place.dsn) as proxy:
        proxy.silence(last)
        worker = start(place, proxy.dsn)
        assert worker.wait(40) == 1
        assert proxy.lost.is_set()
    assert said in worker.said() and "EMQ401" in worker.said()
    assert "Traceback" not in worker.said()


def test_a_role_that_may_work_on_no_job_is_refused_at_the_start(place: Place, db: Database) -> None:
    name = str(conninfo_to_dict(db.dsn)["dbname"]).replace("-", "_")
    role, prefix = f"{name}_nobody", f"{name}_r"
    steps.apply_roles(place.reader, prefix=prefix)
    roles = [role, *(f"{prefix}_{kind}" for kind in ("producer", "worker", "operator", "reader"))]
    place.reader.execute(f'create role "{role}" login'.encode())
    try:
        worker = start(place, make_conninfo(db.dsn, user=role))
        assert worker.wait() == 2, worker.said()
        assert "ermission denied" in worker.said() or "may not execute" in worker.said()
        place.reader.execute(f'grant "{prefix}_producer" to "{role}"'.encode())
        worker = start(place, make_conninfo(db.dsn, user=role))
        assert worker.wait() == 2, worker.said()
        assert f'The role "{role}" may not execute emq.at_home, emq.claim, ' in worker.said()
        place.reader.execute(f'grant "{prefix}_worker" to "{role}"'.encode())
        worker = start(place, make_conninfo(db.dsn, user=role))
        place.until(lambda: worker.status("/ready") == 200, "ready")
        worker.close()
    finally:
        for each in roles:
            place.reader.execute(f'drop owned by "{each}"'.encode())
            place.reader.execute(f'drop role "{each}"'.encode())


def test_a_pooler_in_statement_mode_is_refused_at_the_start(place: Place) -> None:
    with bounced(place.dsn, pool_mode="statement") as bouncer:
        worker = start(place, bouncer.dsn)
        assert worker.wait() == 2, worker.said()
    assert "statement mode" in worker.said() and "EMQ106" in worker.said()
