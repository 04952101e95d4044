"""A producer as a process: adds a job of a task, unless one waits, so many times.

Arguments: DSN, task, payload, how many times.
"""

from __future__ import annotations

import sys

import psycopg

from emq_sql.job import NewJob
from emq_sql.minting import new_id
from emq_sql.protocol import enqueueing


def main() -> None:
    dsn, task, payload, times = sys.argv[1:]
    with psycopg.connect(dsn, autocommit=True) as conn:
        for _ in range(int(times)):
            job = NewJob(task, payload, new_id(), unless_waiting=True)
            enqueueing.enqueue(conn, "emq", "default", job, own=True)


if __name__ == "__main__":
    main()
