"""A client that claims jobs and dies of kill -9, and tells no one.

Arguments: DSN, how many. It prints how many it holds, then kills itself.
"""

from __future__ import annotations

import os
import secrets
import signal
import sys
from datetime import timedelta

import psycopg

from emq_sql.protocol import claiming

BATCH = 1_000
LEASE = timedelta(milliseconds=100)


def main() -> None:
    dsn, wanted = sys.argv[1], int(sys.argv[2])
    held = 0
    with psycopg.connect(dsn, autocommit=True) as conn:
        while held < wanted:
            n = min(BATCH, wanted - held)
            nonce = secrets.randbits(40)
            got = claiming.claim(conn, "emq", "lost", n, "leaving-1", nonce, LEASE)
            assert len(got) == n, f"{len(got)} of {n} were to be had"
            held += n
    print(held, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
