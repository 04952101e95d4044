"""What the suite is set to, in one place: the server, the workers, and how much of each workload.

`python -m bench` writes all of it into the JSON of its session.
"""

from __future__ import annotations

from dataclasses import dataclass

from bench.compare.servers import DURABLE

# Every rate is one of durable commits: fsync and synchronous_commit are on.
# The WAL of a run is kept for so long that its commits can be counted.
SERVER = DURABLE | {"max_connections": 120, "wal_keep_size": "3GB"}

# Options of `emq worker`: for handlers that return at once, for such as wait, and none.
NOOP_WORKER: tuple[str, ...] = ("--concurrency", "1", "--prefetch", "4000")
WAITING_WORKER: tuple[str, ...] = ("--concurrency", "16", "--prefetch", "100")
PLAIN_WORKER: tuple[str, ...] = ()

RUNS = 5
CELL_SECONDS = 240.0  # a cell that takes longer has failed, and its processes are ended
PAYLOAD_BYTES = 100
WAIT_MS = 5  # what a handler that waits waits for


@dataclass(frozen=True, slots=True)
class Sizes:
    """Counts, and seconds at which a measurement ends however much is left of its count."""

    single_jobs: int = 3_000
    single_seconds: float = 3.0
    bulk_jobs: int = 100_000
    bulk_batch: int = 1_000
    bulk_seconds: float = 3.0
    drain_jobs: int = 60_000
    drain_seconds: float = 7.0
    waiting_jobs: int = 10_000
    waiting_seconds: float = 5.0
    latency_jobs: int = 150
    foreign_jobs: int = 30
    foreign_seconds: float = 2.0  # the other transaction stays open so long after a commit
    polled_jobs: int = 6
    polled_gap: tuple[float, float] = (1.0, 2.0)  # longer than a poll: the worker is idle again
    producers: int = 2  # processes
    producer_threads: int = 32  # in each
    producer_seconds: float = 3.0
    backlogs: tuple[int, ...] = (1_000, 100_000, 1_000_000)
    huge_backlog: int = 10_000_000
    claims: int = 150
    pinned_seconds: float = 60.0
    pinned_window: float = 10.0
    pinned_depth: int = 2_000
    queues: int = 1_000
    jobs_of_a_queue: int = 10
    claimers: tuple[tuple[int, int], ...] = ((1, 1), (4, 1), (16, 1), (64, 1), (4, 16), (64, 16))
    claimer_backlog: int = 100_000
    claimer_seconds: float = 2.0
    history_days: int = 30
    history_rows: int = 20_000  # of each day


FULL = Sizes()

# Enough to see that everything works; the figures say little.
QUICK = Sizes(
    single_jobs=100,
    single_seconds=1.0,
    bulk_jobs=5_000,
    bulk_batch=500,
    bulk_seconds=1.0,
    drain_jobs=1_000,
    drain_seconds=3.0,
    waiting_jobs=300,
    waiting_seconds=2.0,
    latency_jobs=15,
    foreign_jobs=5,
    foreign_seconds=0.3,
    polled_jobs=2,
    polled_gap=(0.3, 0.6),
    producers=2,
    producer_threads=32,
    producer_seconds=1.0,
    backlogs=(1_000, 10_000),
    huge_backlog=50_000,
    claims=20,
    pinned_seconds=4.0,
    pinned_window=1.0,
    pinned_depth=500,
    queues=100,
    jobs_of_a_queue=5,
    claimers=((1, 1), (64, 1), (4, 16)),
    claimer_backlog=20_000,
    claimer_seconds=1.0,
    history_days=5,
    history_rows=500,
)
