"""python -m bench.guard: what the guard of commits costs a job with one transaction of its own.

A worker in threads runs jobs that each read a row and write one through a SQLAlchemy Session.
Rounds of the same jobs alternate between tasks: `plain` (guard=False), `guarded` (as every task
is), `own` (effects and completion in one transaction; the worker completes nothing then). Each
round of one is compared with the rounds of `plain` before and after it; what is printed is the
median of those ratios, so that a machine that slows down meanwhile is none of the guard's doing.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

import psycopg
from sqlalchemy import create_engine, text
from sqlalchemy.engine import Engine
from sqlalchemy.orm import Session

from bench import place
from bench.compare.servers import DURABLE
from emq_sql import EMQ
from emq_sql.effects.effects import DatabaseEffects
from emq_sql.embedded import start
from emq_sql.embedded.server import Server
from emq_sql.protocol import steps
from emq_sql.worker.settings import WorkerSettings
from emq_sql.worker.worker import Worker

_ACCOUNTS = 100
_TABLES = """
create table account (id int primary key, balance int not null);
insert into account select g, 0 from generate_series(0, 99) g;
create table entry (id bigint generated always as identity primary key, account int, amount int)
"""


@dataclass(frozen=True, slots=True)
class Compared:
    """A kind of task beside `plain`: medians over the rounds, and the spread of the ratios."""

    kind: str
    jobs_per_second: int
    server_cpu_us_per_job: int
    worker_cpu_us_per_job: int
    time_ratio: float
    lowest: float
    highest: float
    cpu_ratio: float


@dataclass(frozen=True, slots=True)
class Round:
    """Seconds for all jobs of a round, and CPU seconds of server and worker meanwhile."""

    seconds: float
    cpu: float
    own: float


def application(engine: Engine) -> dict[str, Callable[..., Any]]:
    """Tasks that do the same work."""
    emq = EMQ(engine)

    def work(session: Session, n: int) -> None:
        account = n % _ACCOUNTS
        session.execute(text("select balance from account where id = :a"), {"a": account}).one()
        session.execute(
            text("insert into entry (account, amount) values (:a, :n)"), {"a": account, "n": n}
        )

    @emq.task(guard=False)
    def plain(n: int) -> None:
        with Session(engine) as session:
            work(session, n)
            session.commit()

    @emq.task
    def guarded(n: int) -> None:
        with Session(engine) as session:
            work(session, n)
            session.commit()

    @emq.task(transaction=True)
    def own(session: Session, n: int) -> None:
        work(session, n)

    return {"emq": emq, "plain": plain, "guarded": guarded, "own": own}  # type: ignore[dict-item]


def round_of(kind: str, server: Server, app: dict[str, Any], given: argparse.Namespace) -> Round:
    """Enqueue the jobs, then time a burst that runs them."""
    emq: EMQ = app["emq"]
    app[kind].enqueue_many([{"n": n} for n in range(given.jobs)])
    settings = WorkerSettings(
        queues=("default",), concurrency=given.threads, burst=True, poll=timedelta(seconds=0.05)
    )
    effects = DatabaseEffects("emq", emq.engine)
    worker = Worker(emq.connect, "emq", emq.handlers, settings, effects)
    cpu, own, began = place.server_cpu(server), time.process_time(), time.monotonic()
    thread = threading.Thread(target=worker.run)
    thread.start()
    thread.join()
    seconds = time.monotonic() - began
    return Round(seconds, place.server_cpu(server) - cpu, time.process_time() - own)


def measure(server: Server, given: argparse.Namespace) -> list[Compared]:
    """Alternate the kinds, and compare each round with its neighbours."""
    url = server.dsn.replace("postgresql:", "postgresql+psycopg:", 1)
    engine = create_engine(url, pool_size=given.threads + 2)
    with psycopg.connect(server.dsn, autocommit=True) as conn:
        steps.upgrade(conn)
        conn.execute(_TABLES.encode())
    app = application(engine)
    kinds = ("guarded", "own")
    for kind in ("plain", *kinds):  # warm
        round_of(kind, server, app, given)
    plain = [round_of("plain", server, app, given)]
    found: dict[str, list[tuple[Round, float, float]]] = {kind: [] for kind in kinds}
    for _ in range(given.rounds):
        for kind in kinds:
            one = round_of(kind, server, app, given)
            plain.append(round_of("plain", server, app, given))
            beside, cpu = (
                (plain[-1].seconds + plain[-2].seconds) / 2, (plain[-1].cpu + plain[-2].cpu) / 2,
            )  # fmt: skip
            found[kind].append((one, one.seconds / beside, one.cpu / cpu))
    engine.dispose()
    same = [(one, 1.0, 1.0) for one in plain]
    return [compared("plain", same, given.jobs)] + [
        compared(kind, rounds, given.jobs) for kind, rounds in found.items()
    ]


def compared(kind: str, rounds: list[tuple[Round, float, float]], jobs: int) -> Compared:
    seconds = statistics.median(one.seconds for one, _, _ in rounds)
    cpu = statistics.median(one.cpu for one, _, _ in rounds)
    own = statistics.median(one.own for one, _, _ in rounds)
    ratios = [ratio for _, ratio, _ in rounds]
    return Compared(
        kind, round(jobs / seconds), round(cpu / jobs * 1e6), round(own / jobs * 1e6),
        round(statistics.median(ratios), 3), round(min(ratios), 3), round(max(ratios), 3),
        round(statistics.median(ratio for _, _, ratio in rounds), 3),
    )  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Run, print, and keep the figures in bench/results."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.guard")
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--durable", action="store_true", help="commits wait for the disk")
    parser.add_argument("--save", action="store_true", help="keep them in bench/results")
    given = parser.parse_args(arguments)
    options = DURABLE if given.durable else place.OPTIONS
    with start(durable=given.durable, options=options) as server:
        rows = measure(server, given)
        told = {"what": "guard", **place.describe(server), "options": options}
    told |= {"jobs": given.jobs, "threads": given.threads, "rounds": given.rounds}
    told["kinds"] = [asdict(row) for row in rows]
    for row in rows:
        print(row)
    if given.save:
        name = f"guard{'-durable' * given.durable}-pg{server.major}.json"
        place.write(told, place.RESULTS / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
