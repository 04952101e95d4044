"""All the upkeep that is due now, and no more: for schedulers that start a command now and then."""

from __future__ import annotations

from emq_sql.job import Maintained, Tidied
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


def tidied(link: Link, schema: str) -> tuple[int, Tidied]:
    """How many steps of retention were made until there was nothing to do, and the last answer.

    That one is idle, and names what could not be had now. Raises DatabaseTrouble; the steps before
    it stay done.
    """
    steps = 0
    while True:
        done = link.call(lambda conn: upkeep.tidy(conn, schema, tidying.LIMIT))
        if done.idle:
            return steps, done
        steps += 1
