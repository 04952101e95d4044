"""A process that claims jobs and then does nothing: it is there to be killed.

Arguments: DSN, queue, how many, lease in seconds. It prints the ids of what it holds, then waits.
"""

from __future__ import annotations

import json
import secrets
import signal
import sys
from datetime import timedelta

import psycopg

from emq_sql.protocol import claiming


def main() -> None:
    dsn, queue, count, seconds = sys.argv[1:]
    lease = timedelta(seconds=float(seconds))
    with psycopg.connect(dsn, autocommit=True) as conn:
        held = claiming.claim(
            conn, "emq", queue, int(count), "holder-1", secrets.randbits(40), lease
        )
    print(json.dumps([str(job.lease.id) for job in held]), flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
