"""Who keeps a session of ours waiting, asked from another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg

from emq_sql.protocol.adapt import cursor
from emq_sql.protocol.troubles import named

# Of the sessions of other roles not every role may see more than the pid. Behind a pooler the pid
# that we know is no server's, and nobody is found.
_IN_THE_WAY = """
select b.pid, a.usename::text, a.application_name, a.state,
       extract(epoch from clock_timestamp() - a.xact_start)::float8
  from unnest(pg_catalog.pg_blocking_pids(%s)) b (pid)
  left join pg_catalog.pg_stat_activity a on a.pid = b.pid
 order by a.xact_start
"""


@dataclass(frozen=True, slots=True)
class InTheWay:
    """A session whose open transaction has what another one waits for; None: not to be seen."""

    pid: int  # 0: a prepared transaction
    role: str | None
    application: str | None
    state: str | None
    seconds: float | None


def in_the_way(conn: psycopg.Connection[Any], pid: int) -> list[InTheWay]:
    """Those that the session `pid` waits for now, the oldest transaction first."""
    with named(), cursor(conn) as c:
        return [InTheWay(*row) for row in c.execute(_IN_THE_WAY, [pid])]
