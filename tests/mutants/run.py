"""python -m tests.mutants.run [name ...]: which clause is held by which test; all must be held.

Prints "clause taken out -> test that failed" and ends with 1 when a mutant survives. Two at a time,
on one server (EMQ_SQL_TEST_SERVER, as in the tests).
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor

from tests.mutants.killing import judge
from tests.mutants.table import BY_NAME, MUTANTS
from tests.plugins.choice import choose
from tests.plugins.running import run


def main(names: list[str]) -> int:
    """Judge these mutants, or all; 0 when every one was killed."""
    chosen = [BY_NAME[name] for name in names] or list(MUTANTS)
    server, stop = run(choose())
    began = time.monotonic()
    survived = []
    try:
        with ThreadPoolExecutor(2) as pool:
            for verdict in pool.map(lambda mutant: judge(mutant, server.dsn), chosen):
                mutant = verdict.mutant
                arrow = "->" if verdict.killed else "SURVIVED"
                arrow = "->" if verdict.killed else "SURVIVED"
                print(f"{mutant.clause()}\n    {arrow} {mutant.test}")
                if not verdict.killed:
                    survived.append(mutant.name)
                    print(verdict.said)
                sys.stdout.flush()
    finally:
        stop()
    taken = time.monotonic() - began
    killed = len(chosen) - len(survived)
    print(
        f"\n{killed} of {len(chosen)} mutants killed on PostgreSQL {server.version}, {taken:.0f} s"
    )
    if survived:
        print(f"survived: {' '.join(survived)}")
    return bool(survived)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
