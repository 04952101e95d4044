"""What vacuum has done for the hot tables, and what keeps it from doing more. Reads only."""

from __future__ import annotations

from typing import Any

import psycopg

from emq_sql.protocol.rows import Row, read

HOT = ("active", "pending", "scheduled")

_TABLES = """
select s.relname as name, s.n_live_tup as live, s.n_dead_tup as dead,
       extract(epoch from clock_timestamp()
               - greatest(s.last_vacuum, s.last_autovacuum))::float8 as seconds
  from pg_catalog.pg_stat_all_tables s
 where s.schemaname = %s and s.relname = any (%s)
 order by s.relname
"""

# A snapshot in another database keeps nothing here; a standby's (hot_standby_feedback) does. Since
# when a transaction is open not every role may see: its age in transactions is for everybody.
_HOLDERS = """
select h.* from (
  select 'session' as kind, a.pid::text as name, a.usename::text as role,
         coalesce(nullif(a.application_name, ''), a.backend_type) as what,
         extract(epoch from clock_timestamp() - a.xact_start)::float8 as seconds,
         greatest(age(a.backend_xmin), age(a.backend_xid)) as transactions
    from pg_catalog.pg_stat_activity a
   where (a.datname = current_database() or a.backend_type = 'walsender')
     and a.pid <> pg_backend_pid() and coalesce(a.backend_xmin, a.backend_xid) is not null
  union all
  select 'prepared', x.gid, x.owner::text, 'a two-phase transaction',
         extract(epoch from clock_timestamp() - x.prepared)::float8, age(x.transaction)
    from pg_catalog.pg_prepared_xacts x where x.database = current_database()
  union all
  select 'slot', r.slot_name::text, null, 'a replication slot', null, age(r.xmin)
    from pg_catalog.pg_replication_slots r where r.xmin is not null) h
 order by h.seconds desc nulls last, h.transactions desc
"""


def tables(conn: psycopg.Connection[Any], schema: str) -> list[Row]:
    """The hot tables: live and dead rows as last counted, and seconds since the last vacuum."""
    return read(conn, _TABLES, [schema, list(HOT)])


def holders(conn: psycopg.Connection[Any]) -> list[Row]:
    """Who keeps dead rows from vacuum now, the oldest first; `seconds` is None when not known."""
    return read(conn, _HOLDERS)
