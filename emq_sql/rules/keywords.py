"""The words that PostgreSQL 15 to 18 do not take as a schema name without quotes."""

from __future__ import annotations

# Reserved words, and those reserved except as the name of a function or a type.
_RESERVED = """
all analyse analyze and any array as asc asymmetric authorization binary both case cast check
collate collation column concurrently constraint create cross current_catalog current_date
current_role current_schema current_time current_timestamp current_user default deferrable desc
distinct do else end except false fetch for foreign freeze from full grant group having ilike in
initially inner intersect into is isnull join lateral leading left like limit localtime
localtimestamp natural not notnull null offset on only or order outer overlaps placing primary
references returning right select session_user similar some symmetric system_user table
tablesample then to trailing true union unique user using variadic verbose when where window with
"""

# Usable as a table's name, yet not in front of a type's: `returns setof values.job` is an error.
_NOT_BEFORE_A_TYPE = """
between bigint bit boolean char character coalesce dec decimal exists extract float greatest
grouping inout int integer interval json json_array json_arrayagg json_exists json_object
json_objectagg json_query json_scalar json_serialize json_table json_value least merge_action
national nchar none normalize nullif numeric out overlay position precision real row setof
smallint substring time timestamp treat trim values varchar xmlattributes xmlconcat xmlelement
xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable
"""

# Free in SQL and reserved in PL/pgSQL, where the functions of the ledger are written.
_PLPGSQL = "begin by declare execute foreach if loop strict while"

UNUSABLE_UNQUOTED = frozenset(f"{_RESERVED} {_NOT_BEFORE_A_TYPE} {_PLPGSQL}".split())
