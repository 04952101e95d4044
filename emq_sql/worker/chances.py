"""Which of the jobs that were just claimed would be dead letters if they were lost once more."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from emq_sql.errors import EmqError
from emq_sql.protocol import claiming
from emq_sql.protocol.link import Link
from emq_sql.worker.entry import Entry

log = logging.getLogger("emq_sql.worker")

LIMIT = 5.0  # seconds; their leases are kept meanwhile, and nothing else is settled
SURELY = 2  # lost leases after which it is assumed, when nobody can be asked


class Chances:
    """Asks the database, about those only that were lost before."""

    def __init__(self, link: Link, schema: str) -> None:
        self._link = link
        self._schema = schema

    def last(self, entries: Sequence[Entry]) -> list[Entry]:
        """Those of them. Never raises: without an answer, all that were lost twice are."""
        asked = [entry for entry in entries if entry.claimed.stalled > 0]
        if not asked:
            return []
        leases = [entry.lease for entry in asked]
        try:
            named = self._link.call(
                lambda conn: claiming.last_chance(conn, self._schema, leases), LIMIT
            )
        except EmqError as error:
            log.warning("which jobs may not be lost once more is not known: %s", error)
            return [entry for entry in asked if entry.claimed.stalled >= SURELY]
        return [entry for entry in asked if entry.lease.id in named]
