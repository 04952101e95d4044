"""The tests of the service, on the database of SERVICE_DATABASE, which has orders and a ledger."""

from __future__ import annotations

from fastapi.testclient import TestClient
from service import app, emq


def test_an_order_is_confirmed_while_the_service_runs() -> None:
    with TestClient(app) as client:
        job = client.post("/orders/1").json()["job"]
        while client.get(f"/jobs/{job}").json()["place"] != "completed":
            pass
    with emq.connection() as conn:
        assert conn.execute("select n, confirmed from orders").fetchall() == [(1, True)]
        # The worker has ended with the service, and has said so.
        assert conn.execute("select count(*) from emq.worker").fetchone() == (0,)
    emq.engine.dispose()
