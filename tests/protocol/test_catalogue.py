"""The catalogue of the schema: what is counted or named is wide enough for ever."""

from __future__ import annotations

from tests.protocol.calls import Ledger, refused

# What has 32 bits or fewer, and why that is enough.
BOUNDED = {
    "priority": "0 to 4 by check",
    "rank": "0 to 9, from the priority",
    "lease_ms": "a day at most by check: 86,400,000",
    "attempts": "claims of one job, of which the fence holds 23 bits",
    "extensions": "of one claim",
    "stalled": "of one job; max_attempts ends it",
    "failures": "of one job; max_attempts ends it",
    "max_attempts": "a setting, 32767 at most by its type",
    "max_stalled": "a setting, 32767 at most by its type",
    "max_active": "a setting, of jobs that run at once",
    "quarantine_after": "a setting, of the leases that one job lost",
    "slots": "of one worker",
    "version": "of the schema's steps; of a day's export, each one made by hand",
    "schema_version": "of the schema's steps",
    "part": "of the files of one day",
    "parts": "of the files of one day",
    "ahead": "days that partitions are made ahead",
    "seconds": "of one call",
    "lock": "the hash of a queue's name",
    "limit": "of one call", "n": "of one call",
}  # fmt: skip
# Rows that one call dealt with: p_limit of them at most.
OF_ONE_CALL = {
    "adopt", "archive_days", "discard_many", "drain", "erase", "maintain", "maintain_due",
    "note_refusals", "obliterate", "promote", "reap", "record_refusals", "release_worker",
    "replay_many", "sweep",
}  # fmt: skip
# A lease in milliseconds, which is a day at most.
OF_ONE_CALL |= {"hold"}
# `recovered`, `dead` and `skipped` are of one reap, p_limit at most.
LOGS_OF_CALLS = {"reap_log"}

NARROW = "('int2'::regtype, 'int4'::regtype, 'int2[]'::regtype, 'int4[]'::regtype)"


def test_nothing_narrow_is_an_id_a_total_or_anything_else_that_grows(ledger: Ledger) -> None:
    columns = ledger.rows(
        "select c.relname, a.attname from pg_attribute a join pg_class c on c.oid = a.attrelid"
        " where c.relnamespace = 'emq'::regnamespace and c.relkind in ('r', 'p', 'v')"
        f" and a.attnum > 0 and not a.attisdropped and a.atttypid in {NARROW}"
    )
    assert {name for table, name in columns if table not in LOGS_OF_CALLS} <= set(BOUNDED)
    parameters = ledger.rows(
        "select p.proname, coalesce(u.name, ''), coalesce(u.mode, 'i')"
        " from pg_proc p cross join lateral unnest("
        "  coalesce(p.proallargtypes, p.proargtypes::oid[]), p.proargnames, p.proargmodes"
        " ) as u (type, name, mode)"
        f" where p.pronamespace = 'emq'::regnamespace and u.type in {NARROW}"
    )
    plural = {"priorities": "priority"}
    unbounded = {
        f"{function} {name}"
        for function, name, mode in parameters
        if plural.get(bare := name.removeprefix("p_"), bare) not in BOUNDED
        and not (mode == "o" and function in OF_ONE_CALL)
    }
    assert unbounded == set()
    answers = ledger.column(
        "select proname from pg_proc where pronamespace = 'emq'::regnamespace"
        f" and prorettype in {NARROW} and not exists ("
        "   select from unnest(proargmodes) mode where mode in ('o', 't'))"
    )
    assert set(answers) <= OF_ONE_CALL


def test_every_id_of_a_job_is_a_uuid_and_every_fence_and_place_in_line_a_bigint(
    ledger: Ledger,
) -> None:
    types = ledger.rows(
        "select a.attname, a.atttypid::regtype::text, count(*)"
        " from pg_attribute a join pg_class c on c.oid = a.attrelid"
        " where c.relnamespace = 'emq'::regnamespace and c.relkind in ('r', 'p')"
        " and a.attname in ('id', 'fence', 'held', 'ord', 'n', 'rows', 'bytes')"
        " and not a.attisdropped group by 1, 2"
    )
    assert {(name, kind) for name, kind, _ in types} == {
        ("id", "uuid"), ("fence", "bigint"), ("held", "bigint"), ("ord", "bigint"),
        ("n", "bigint"), ("rows", "bigint"), ("bytes", "bigint"),
    }  # fmt: skip
    sequence = "select seqtypid::regtype::text from pg_sequence where seqrelid = %s::regclass"
    assert ledger.one(sequence, "emq.ord_seq") == "bigint"


def test_what_is_narrow_by_a_bound_has_it(ledger: Ledger) -> None:
    for value, code in (
        ("p_priority => 5", "23514"), ("p_lease => '1 day 1 s'", "23514"),
        ("p_max_attempts => 32768", "22003"),
    ):  # fmt: skip
        with refused(code):
            ledger.rows(f"select * from emq.enqueue('q', 't', '{{}}', {value})")
