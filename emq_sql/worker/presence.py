"""The worker's line in the register, which is for people: recovery never looks at it."""

from __future__ import annotations

import logging
from typing import Any

import psycopg

from emq_sql.errors import EmqError
from emq_sql.protocol import upkeep
from emq_sql.protocol.link import Link
from emq_sql.worker.identity import version
from emq_sql.worker.settings import WorkerSettings

log = logging.getLogger("emq_sql.worker")


class Presence:
    """Who works here, on which queues, with how many slots."""

    def __init__(self, schema: str, worker: str, settings: WorkerSettings) -> None:
        self._schema = schema
        self._worker = worker
        self._settings = settings

    def seen(self, conn: psycopg.Connection[Any]) -> None:
        """It is there."""
        queues, slots = self._settings.queues, self._settings.slots
        upkeep.worker_seen(conn, self._schema, self._worker, queues, slots, version())

    def gone(self, link: Link) -> None:
        """It has ended; when that cannot be said, it is forgotten after a while."""
        try:
            link.call(lambda conn: upkeep.worker_gone(conn, self._schema, self._worker))
        except EmqError as error:
            log.warning("the worker stays in the register until it is forgotten: %s", error)
