"""The recipes for effects outside the database, run as they stand on their page."""

from __future__ import annotations

import json
import re
import threading
import urllib.request
from collections.abc import Callable, Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import text

from emq_sql import EMQ
from emq_sql.effects.effects import DatabaseEffects
from emq_sql.errors import LeaseLost
from emq_sql.worker.settings import WorkerSettings
from emq_sql.worker.worker import Worker
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "effects-elsewhere.md"


def recipe(name: str) -> str:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (found,) = [block for block in blocks if block.startswith(f"# recipe: {name}\n")]
    return str(found)


class Payments:
    """A service that remembers the keys of what it was asked."""

    def __init__(self) -> None:
        self.captured: dict[str, int] = {}
        self.asked = 0
        told = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                told.asked += 1
                told.captured.setdefault(self.headers["Idempotency-Key"], body["amount"])
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b'{"captured": true}')

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def payments() -> Iterator[Payments]:
    made = Payments()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def app(db: Database) -> Iterator[EMQ]:
    made = EMQ(db.dsn)
    yield made
    made.engine.dispose()


def run(emq: EMQ, *queues: str) -> None:
    """A burst of a worker."""
    settings = WorkerSettings(queues, burst=True, poll=timedelta(seconds=0.05))
    effects = DatabaseEffects("emq", emq.engine)
    Worker(emq.connect, "emq", emq.handlers, settings, effects).run()


def crash_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """It does its work, and fails before the job is completed, at the first attempt."""

    def crashing(job: Any, *args: Any, **kwargs: Any) -> Any:
        result = function(job, *args, **kwargs)
        if job.attempts == 1:
            raise RuntimeError("after the effect")
        return result

    return crashing


def test_an_api_that_is_given_the_jobs_key_captures_once(
    app: EMQ, db: Database, payments: Payments
) -> None:
    port = payments.server.server_address[1]
    space: dict[str, Any] = {
        "emq": app, "json": json, "urllib": urllib, "API": f"http://127.0.0.1:{port}",
    }  # fmt: skip
    exec(recipe("HTTP"), space)
    capture = space["capture"]
    twice = app.task(
        name="twice", queue="billing", takes_context=True, backoff=0.001
    )(crash_once(capture.handler.function))  # fmt: skip
    job = twice.enqueue(payment="p", cents=100)
    ledger = Ledger(db.connect())
    while ledger.place(job.id) != "completed":
        run(app, "billing")
        ledger.promote()
    assert payments.asked == 2
    assert payments.captured == {str(job.id): 100}


def test_what_a_lost_attempt_put_into_the_store_is_never_named(app: EMQ, db: Database) -> None:
    objects: dict[str, str] = {}

    class Store:
        def put(self, name: str, content: str) -> None:
            objects[name] = content

    with db.connect() as conn:
        conn.execute("create table report (month text primary key, object text not null)")
    ledger = Ledger(db.connect())

    def render(month: str) -> str:
        if not objects:  # the first attempt: its lease is lost while it renders
            (held,) = ledger.rows("select id, fence from emq.active")
            assert ledger.one("select emq.stall(array[%s], array[%s::bigint])", *held) == [
                "pending"
            ]
        return f"{month}, attempt {len(objects) + 1}"

    space: dict[str, Any] = {"emq": app, "store": Store(), "render": render, "text": text}
    exec(recipe("object store"), space)
    job = space["report"].enqueue(month="2026-11")
    run(app, "reports")
    assert sorted(objects) == [f"reports/2026-11/{job.id}-{n}.csv" for n in (1, 2)]
    assert ledger.one("select object from report") == f"reports/2026-11/{job.id}-2.csv"


def test_an_older_attempt_cannot_overwrite_a_later_one_elsewhere(app: EMQ, tmp_path: Path) -> None:
    elsewhere = sa.create_engine(f"sqlite:///{tmp_path / 'elsewhere.db'}")
    with elsewhere.begin() as connection:
        connection.execute(text("create table stock (sku text primary key, level int, fence int)"))
    space: dict[str, Any] = {
        "emq": app, "elsewhere": elsewhere, "text": text, "LeaseLost": LeaseLost,
    }  # fmt: skip
    exec(recipe("table elsewhere"), space)
    publish = space["publish"]
    publish.enqueue(sku="a", level=5)
    run(app, "stock")

    class Older:
        fence = 1

    with pytest.raises(LeaseLost):
        publish.handler.function(Older(), sku="a", level=4)
    with elsewhere.connect() as connection:
        assert connection.execute(text("select level from stock")).scalar() == 5
    elsewhere.dispose()
