"""python -m bench.suite.producing: a producer process of many threads, begun by a line on stdin.

Each thread enqueues one job after the other, in transactions of their own; how many is printed.
EMQ_DSN says where.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time

from sqlalchemy import create_engine

from bench.suite import jobs
from emq_sql import EMQ


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.suite.producing", description=__doc__)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--no-bell", dest="bell", action="store_false")
    given = parser.parse_args()
    url = os.environ["EMQ_DSN"].replace("postgresql:", "postgresql+psycopg:", 1)
    emq = EMQ(create_engine(url, pool_size=given.threads + 1), bell=given.bell)
    task = emq.task(name="noop")(jobs.noop)
    added = [0] * given.threads
    errors: list[Exception] = []
    ready, go = threading.Barrier(given.threads + 1), threading.Event()
    until = 0.0

    def produce(number: int) -> None:
        try:
            with emq.connection():
                ready.wait(60)
            go.wait()
            while time.monotonic() < until:
                task.enqueue(**jobs.payload(added[number]))
                added[number] += 1
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=produce, args=(k,)) for k in range(given.threads)]
    for thread in threads:
        thread.start()
    ready.wait(60)  # each thread has its connection
    print(json.dumps({"ready": given.threads}), flush=True)
    sys.stdin.readline()
    until = time.monotonic() + given.seconds
    go.set()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    emq.flush_rings()
    print(json.dumps({"added": sum(added)}), flush=True)


if __name__ == "__main__":
    main()
