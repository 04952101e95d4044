"""What goes on beside the load: maintain twice a second, and vacuum at the worst moments."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg

HOT = ("active", "pending", "scheduled", "job")


@dataclass(slots=True)
class Upkeep:
    """Milliseconds of each maintain, vacuums done, and what went wrong."""

    maintain_ms: list[float] = field(default_factory=list)
    vacuums: int = 0
    errors: list[BaseException] = field(default_factory=list)


@contextmanager
def upkeep(dsn: str) -> Iterator[Upkeep]:
    """Maintain each half second, and VACUUM ANALYZE of the hot tables each 3 s, which tempts the
    planner: the statistics may be of a moment at which they were empty."""
    told = Upkeep()
    stop = threading.Event()

    def maintain() -> None:
        with psycopg.connect(dsn, autocommit=True) as conn:
            while not stop.wait(0.5):
                began = time.perf_counter()
                conn.execute("select emq.maintain()")
                told.maintain_ms.append((time.perf_counter() - began) * 1000)

    def vacuum() -> None:
        with psycopg.connect(dsn, autocommit=True) as conn:
            while not stop.wait(3):
                for table in HOT:
                    conn.execute(f"vacuum analyze emq.{table}".encode())
                    told.vacuums += 1

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            told.errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in (maintain, vacuum)]
    for thread in threads:
        thread.start()
    try:
        yield told
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@contextmanager
def idle_snapshot(dsn: str, wanted: bool) -> Iterator[None]:
    """A session that sits in a REPEATABLE READ transaction: no row that dies can be removed."""
    if not wanted:
        yield
        return
    with psycopg.connect(dsn) as conn:
        conn.execute("set transaction isolation level repeatable read")
        conn.execute("select count(*) from pg_class")
        yield
        conn.rollback()
