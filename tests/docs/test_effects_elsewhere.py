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


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[sa.Engine]:
    """Another database."""
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'elsewhere.db'}")
    with engine.begin() as connection:
        for columns in (
            "movement (job text primary key, sku text, pieces int, fence int)",
            "stock (sku text primary key, level int, version int)",
        ):
            connection.execute(text(f"create table {columns}"))
    yield engine
    engine.dispose()


def there(elsewhere: sa.Engine, query: str) -> list[tuple[Any, ...]]:
    with elsewhere.connect() as connection:
        return [tuple(row) for row in connection.execute(text(query))]


def ended_as(db: Database) -> list[tuple[Any, ...]]:
    return Ledger(db.connect()).rows("select status, attempts from emq.archive")


ORDERS = pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["as enqueued", "the other way"])


def run_in(order: tuple[int, int], emq: EMQ, db: Database, jobs: list[Any]) -> None:
    """One job after the other, each in a burst of its own, in this order."""
    ledger = Ledger(db.connect())
    for n in order:
        ledger.run(
            "with gone as (delete from emq.pending where id <> %s returning id, rank, queue)"
            " insert into emq.scheduled (run_at, id, queue, rank)"
            " select 'tomorrow', id, queue, rank from gone", jobs[n].id,
        )  # fmt: skip
        run(emq, "stock")
        ledger.run("update emq.scheduled set run_at = clock_timestamp()")
        ledger.promote()
    ran = ledger.column("select id from emq.archive order by finished_at")
    assert ran == [jobs[n].id for n in order]


@ORDERS
def test_two_jobs_for_one_sku_each_have_their_row_elsewhere(
    app: EMQ, db: Database, elsewhere: sa.Engine, order: tuple[int, int]
) -> None:
    space: dict[str, Any] = {
        "emq": app, "elsewhere": elsewhere, "text": text, "LeaseLost": LeaseLost,
    }  # fmt: skip
    exec(recipe("row of a job"), space)
    jobs = [space["book"].enqueue(sku="a", pieces=pieces) for pieces in (5, -2)]
    run_in(order, app, db, jobs)
    assert ended_as(db) == [("completed", 1), ("completed", 1)]
    rows = there(elsewhere, "select job, pieces from movement where sku = 'a'")
    assert sorted(rows) == sorted([(str(jobs[0].id), 5), (str(jobs[1].id), -2)])


def test_a_job_that_is_run_again_keeps_its_one_row_and_an_older_attempt_is_refused(
    app: EMQ, db: Database, elsewhere: sa.Engine
) -> None:
    space: dict[str, Any] = {
        "emq": app, "elsewhere": elsewhere, "text": text, "LeaseLost": LeaseLost,
    }  # fmt: skip
    exec(recipe("row of a job"), space)
    book = space["book"]
    held: list[Any] = []

    def noting(job: Any, **given: Any) -> None:
        held.append(job)
        book.handler.function(job, **given)

    twice = app.task(
        name="twice", queue="stock", takes_context=True, backoff=0.001
    )(crash_once(noting))  # fmt: skip
    job = twice.enqueue(sku="a", pieces=5)
    ledger = Ledger(db.connect())
    while ledger.place(job.id) != "completed":
        run(app, "stock")
        ledger.promote()
    first, second = held
    assert there(elsewhere, "select job, fence from movement") == [(str(job.id), second.fence)]
    with pytest.raises(LeaseLost):
        book.handler.function(first, sku="a", pieces=4)
    assert there(elsewhere, "select pieces from movement") == [(5,)]


@ORDERS
def test_of_two_jobs_for_one_sku_the_newer_level_stands_elsewhere_whichever_runs_last(
    app: EMQ, db: Database, elsewhere: sa.Engine, order: tuple[int, int]
) -> None:
    space: dict[str, Any] = {"emq": app, "elsewhere": elsewhere, "text": text}
    exec(recipe("row of many jobs"), space)
    jobs = [
        space["publish"].enqueue(sku="a", level=level, version=version)
        for version, level in ((1, 9), (2, 4))
    ]
    run_in(order, app, db, jobs)
    assert ended_as(db) == [("completed", 1), ("completed", 1)]
    assert there(elsewhere, "select level, version from stock") == [(4, 2)]


def test_a_level_that_is_published_again_changes_nothing_elsewhere(
    app: EMQ, db: Database, elsewhere: sa.Engine
) -> None:
    space: dict[str, Any] = {"emq": app, "elsewhere": elsewhere, "text": text}
    exec(recipe("row of many jobs"), space)
    for _ in range(2):
        space["publish"].enqueue(sku="a", level=9, version=1)
    run(app, "stock")
    assert ended_as(db) == [("completed", 1), ("completed", 1)]
    assert there(elsewhere, "select level, version from stock") == [(9, 1)]
