"""python -m tests.attacks.tidier DSN LIMIT: says `ready`, then tidies until nothing is left."""

from __future__ import annotations

import sys
import time

import psycopg


def main(dsn: str, limit: int) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        print("ready", flush=True)
        while True:
            row = conn.execute("select did from emq.tidy(%s)", [limit]).fetchone()
            if row == ("nothing",):
                return
            if row == ("busy",):
                time.sleep(0.005)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
