"""A process that is frozen right after a bare statement: `... frozen DSN ID FENCE BINDING`.

It stops itself when the server's notice comes, which the statement's trigger raises.
"""

from __future__ import annotations

import os
import signal
import sys
from datetime import UTC, datetime, timedelta
from uuid import UUID

from psycopg.errors import Diagnostic
from sqlalchemy import create_engine

from emq_sql.effects import django as hook
from emq_sql.effects.effects import DatabaseEffects
from emq_sql.job import Lease
from tests.effects.in_django.room import Note, aim


def stops(notice: Diagnostic) -> None:
    if notice.message_primary == "done":  # and not at the server's last words to a session
        os.kill(os.getpid(), signal.SIGSTOP)


def main(dsn: str, id: str, fence: str, binding: str) -> None:
    connection = aim(dsn, OPTIONS={"server_side_binding": binding == "server"})
    connection.ensure_connection()
    hook.install()
    engine = create_engine(dsn.replace("postgresql:", "postgresql+psycopg:", 1))
    lease = Lease(UUID(id), int(fence), 1, datetime.now(UTC), timedelta(seconds=1))
    DatabaseEffects("emq", engine).begin(lease, lambda _: None, guard=True)
    Note.objects.count()  # the database is recognised
    connection.connection.add_notice_handler(stops)
    Note.objects.filter(text="there").update(text="frozen")


if __name__ == "__main__":
    main(*sys.argv[1:])
