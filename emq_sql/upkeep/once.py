"""All the upkeep that is due now, and no more: for schedulers that start a command now and then."""

from __future__ import annotations

from emq_sql.job import Maintained
from emq_sql.protocol import upkeep
from emq_sql.protocol.link import Link
from emq_sql.upkeep import maintenance, tidying


def maintained(link: Link, schema: str) -> Maintained:
    """The sum of passes up to the first that was not full; each is a transaction of its own.

    `ran` is False when another session was at it all the time. Raises DatabaseTrouble; the passes
    before it stay done.
    """
    promoted = recovered = dead = 0
    ran = False
    while True:
        done = link.call(lambda conn: upkeep.maintain(conn, schema, maintenance.LIMIT))
        ran |= done.ran
        promoted += done.promoted
        recovered += done.recovered
        dead += done.dead
        if not maintenance.full(done):
            return Maintained(ran, promoted, recovered, dead)


def tidied(link: Link, schema: str) -> int:
    """How many steps of retention were made, each by itself, until there was nothing to do.

    Raises DatabaseTrouble; the steps before it stay done.
    """
    steps = 0
    while not link.call(lambda conn: upkeep.tidy(conn, schema, tidying.LIMIT)).idle:
        steps += 1
    return steps
