"""What is in a schema, read from the catalog of the server, so that two can be compared."""

from __future__ import annotations

from typing import Any

import psycopg

# Days' partitions are named by date and made by the first step as much as by maintenance.
_QUERIES = {
    "relations": """
        select c.relname, c.relkind, c.relpersistence, c.reloptions, c.relacl::text,
               c.relpartbound is not null
          from pg_class c where c.relnamespace = %(ns)s""",
    "columns": """
        select c.relname, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
               a.attcollation, a.attstorage, pg_get_expr(d.adbin, d.adrelid)
          from pg_attribute a join pg_class c on c.oid = a.attrelid
          left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
         where c.relnamespace = %(ns)s and a.attnum > 0 and not a.attisdropped""",
    "constraints": """
        select r.relname, c.conname, pg_get_constraintdef(c.oid)
          from pg_constraint c join pg_class r on r.oid = c.conrelid
         where c.connamespace = %(ns)s""",
    "indexes": "select indexdef from pg_indexes where schemaname = %(schema)s",
    "views": "select viewname, definition from pg_views where schemaname = %(schema)s",
    "functions": """
        select p.oid::regprocedure::text, pg_get_functiondef(p.oid), p.proacl::text
          from pg_proc p where p.pronamespace = %(ns)s""",
    "schema": "select nspacl::text from pg_namespace where oid = %(ns)s",
}


def catalog(connection: psycopg.Connection[Any], schema: str = "emq") -> dict[str, list[str]]:
    """Each kind of thing in a schema, as sorted text; all empty when there is no such schema."""
    found = connection.execute("select to_regnamespace(%s)::oid", [schema]).fetchone()
    assert found is not None
    given = {"ns": found[0], "schema": schema}
    return {
        kind: sorted(str(row) for row in connection.execute(query, given).fetchall())
        for kind, query in _QUERIES.items()
    }
