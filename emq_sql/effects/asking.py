"""What became of a claim, asked until it is final."""

from __future__ import annotations

import time

from sqlalchemy.engine import Engine

from emq_sql.errors import EmqError, LeaseBusy, Retryable
from emq_sql.job import Decided, Lease, Outcome
from emq_sql.protocol import settling
from emq_sql.protocol.connecting import dedicated

_FIRST_PAUSE = 0.005
_LONGEST_PAUSE = 1.0
_SHORTEST_WAIT = 1.0


def outcome_of(engine: Engine, schema: str, lease: Lease) -> Outcome:
    """The final answer, on connections of its own: waits while an open transaction may still settle
    the job, for the length of its lease at most.

    Raises LeaseBusy after that, or Retryable when no connection was to be had by then.
    """
    until = time.monotonic() + max(lease.lease.total_seconds(), _SHORTEST_WAIT)
    pause = _FIRST_PAUSE
    while True:
        trouble: EmqError
        try:
            answer = _asked(engine, schema, lease)
        except Retryable as error:
            trouble = error
        else:
            if answer != "busy":
                return answer
            trouble = LeaseBusy(
                f"What becomes of job {lease.id} is not known yet: a transaction that may settle it"
                " is still open.",
                hint="Ask again; the run may also just end, and its worker will ask.",
            )
        if time.monotonic() + pause >= until:
            raise trouble
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _asked(engine: Engine, schema: str, lease: Lease) -> Decided:
    connection = dedicated(engine)
    try:
        return settling.decided(connection, schema, lease)
    finally:
        connection.close()
