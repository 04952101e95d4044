"""Four roles hold the promises: who may call what is one table here, and each cell is looked at."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

from emq_sql.protocol import steps
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger, refused

PRODUCER, WORKER, OPERATOR, READER = ROLES = ("producer", "worker", "operator", "reader")
NOBODY = "nobody"

MAY_CALL = {
    "enqueue": {PRODUCER, WORKER},
    "enqueue_batch": {PRODUCER, WORKER},
    "enqueue_many": {PRODUCER, WORKER},
    "enqueue_unique": {PRODUCER, WORKER},
    "uuid7": {PRODUCER, WORKER},
    "job_id": {PRODUCER, WORKER, OPERATOR},
    "id_time": {PRODUCER, WORKER, OPERATOR},
    "ring": {PRODUCER, WORKER, OPERATOR},
    "ring_parked": {PRODUCER, WORKER, OPERATOR},
    "park": {WORKER},
    "claim_any": {WORKER},
    "maintain_due": {WORKER, OPERATOR},
    "keep": {WORKER},
    "stall": {WORKER},
    "fail": {WORKER},
    "last_chance": {WORKER},
    "set_queue": {OPERATOR},
    "set_ledger": {OPERATOR},
    "headline": {OPERATOR},
    "fingerprint": {OPERATOR},
    "outcome": {PRODUCER, WORKER, OPERATOR},
    "result": {PRODUCER, WORKER, OPERATOR},
    "claim": {WORKER},
    "claimed": {WORKER},
    "complete": {WORKER},
    "complete_and_claim": {WORKER},
    "extend": {WORKER},
    "retry": {WORKER},
    "snooze": {WORKER},
    "release": {WORKER},
    "guard": {PRODUCER, WORKER},
    "guard_commit": {PRODUCER, WORKER},
    "settle": {WORKER},
    "ledger_id": {PRODUCER, WORKER},
    "decided": {PRODUCER, WORKER},
    "once": {PRODUCER, WORKER},
    "note_refusals": {WORKER},
    "sql_stops": {WORKER},
    "stop_sql": {OPERATOR},
    "worker_seen": {WORKER},
    "worker_gone": {WORKER},
    "promote": {WORKER, OPERATOR},
    "reap": {WORKER, OPERATOR},
    "maintain": {WORKER, OPERATOR},
    "maintain_loop": {OPERATOR},
    "tidy": {WORKER, OPERATOR},
    "search": {OPERATOR},
    "as_of": {OPERATOR, READER},
    "kept_days": {OPERATOR, READER},
    "enqueue_unless_waiting": {PRODUCER, WORKER},
    "drain": {OPERATOR},
    "obliterate": {OPERATOR},
    "release_worker": {OPERATOR},
    "adopt": {OPERATOR},
    "here": {OPERATOR},
    "release_key": {OPERATOR},
    "key_holder": {OPERATOR, READER},
    "at_home": {WORKER, OPERATOR},
    "check_stalled": {OPERATOR},
    "pause": {OPERATOR},
    "resume": {OPERATOR},
    "configure": {OPERATOR},
    "tag": {OPERATOR},
    "archive_days": {OPERATOR},
    "story": {OPERATOR},
    "envelope": {OPERATOR},
    "cancel": {OPERATOR},
    "replay": {OPERATOR},
    "discard": {OPERATOR},
    "dead_list": {OPERATOR},
    "dead_groups": {OPERATOR},
    "dead_letter": {OPERATOR},
    "replay_count": {OPERATOR},
    "replay_many": {OPERATOR},
    "replay_one": {OPERATOR},
    "discard_many": {OPERATOR},
    "retire": {OPERATOR},
    "closed": {OPERATOR},
    "export_add": {OPERATOR},
    "export_begin": {OPERATOR},
    "export_days": {OPERATOR},
    "export_done": {OPERATOR},
    "export_end": {OPERATOR},
    "export_extend": {OPERATOR},
    "export_forget": {OPERATOR},
    "export_rows": {OPERATOR},
    "export_verified": {OPERATOR},
    "place": {OPERATOR, READER},
    # What the others are made of.
    "search_where": set(),
    "holds_key": set(),
    "take_key": set(),
    "tidy_keys": set(),
    "ago": set(),
    "days_of": set(),
    "drop_attempts": set(),
    "kept_from": set(),
    "tidy_attempts": set(),
    "tidy_days": set(),
    "tidy_dead": set(),
    "tidy_marks": set(),
    "tidy_queues": set(),
    "tidy_records": set(),
    "tidy_strays": set(),
    "archived": set(),
    "bound": set(),
    "end_of": set(),
    "finite": set(),
    "hold": set(),
    "mine": set(),
    "record_refusals": set(),
    "tidy_inbox": set(),
    "bell_locks": set(),
    "export_at_work": set(),
    "export_stands": set(),
    "late_row": set(),
    "dead_matching": set(),
    "dead_where": set(),
    "end_runs": set(),
    "erase": set(),
    "unseat": set(),
    "withdraw": set(),
    "hand_back": set(),
    "refuse_settings": set(),
    "tell_dead": set(),
    "put_back": set(),
    "reap_one": set(),
    "refuse": set(),
    "refuse_new": set(),
    "replay_verdict": set(),
    "rest": set(),
    "sweep": set(),
}
MAY_READ = {
    "meta": set(ROLES),
    "ledger": {OPERATOR, READER},
    "depth": {OPERATOR, READER},
    "worker": {OPERATOR, READER},
    "reap_log": {OPERATOR, READER},
    "misplaced": {OPERATOR},
    "audit": {OPERATOR},
    "export_part": {OPERATOR},
    "exported": {OPERATOR},
    "refusal": {OPERATOR},
    "late": {OPERATOR},
    "inbox": {OPERATOR},
    "queue": {OPERATOR, READER},
}
# Touch no table, so that they may be inlined; maintain_loop, which commits, can be nothing else.
INVOKER = {
    "ago",
    "bound",
    "dead_where",
    "fingerprint",
    "finite",
    "headline",
    "mine",
    "refuse_settings",
    "replay_verdict",
    "id_time",
    "job_id",
    "uuid7",
    "refuse_new",
    "maintain_loop",
}
WRITES = ("insert", "update", "delete", "truncate", "references", "trigger")


@pytest.fixture
def prefix(db: Database) -> Iterator[str]:
    """The roles of this database alone: roles belong to the whole cluster."""
    prefix = f"emq_{secrets.token_hex(6)}"
    conn = db.connect()
    for _ in range(2):  # running it again is harmless
        conn.execute(steps.roles_script(prefix=prefix).encode())
    conn.execute(f"create role {prefix}_{NOBODY}".encode())
    yield prefix
    for role in (*ROLES, NOBODY):
        conn.execute(f"drop owned by {prefix}_{role}; drop role {prefix}_{role}".encode())


def acting(db: Database, prefix: str, role: str) -> Ledger:
    """A session that has become this role."""
    session = Ledger(db.connect())
    session.run(f"set role {prefix}_{role}")
    return session


def functions(ledger: Ledger) -> list[str]:
    found = ledger.column("select proname from pg_proc where pronamespace = 'emq'::regnamespace")
    assert len(found) == len(set(found))
    return found


def relations(ledger: Ledger, kinds: str) -> list[str]:
    return ledger.column(
        "select relname from pg_class where relnamespace = 'emq'::regnamespace"
        " and relkind::text = any (%s)", list(kinds),
    )  # fmt: skip


def test_each_function_is_in_the_table(ledger: Ledger) -> None:
    assert set(functions(ledger)) == set(MAY_CALL)


@pytest.mark.parametrize("role", [*ROLES, NOBODY])
def test_a_role_may_call_what_the_table_says_and_nothing_else(
    ledger: Ledger, prefix: str, role: str
) -> None:
    may = ledger.column(
        "select proname from pg_proc where pronamespace = 'emq'::regnamespace"
        " and has_function_privilege(%s, oid, 'execute')", f"{prefix}_{role}",
    )  # fmt: skip
    assert set(may) == {name for name, roles in MAY_CALL.items() if role in roles}


@pytest.mark.parametrize("role", [*ROLES, NOBODY])
def test_a_role_may_read_what_the_table_says_and_write_nothing(
    ledger: Ledger, prefix: str, role: str
) -> None:
    name = f"{prefix}_{role}"
    tables = relations(ledger, "rpv")
    assert set(MAY_READ) <= set(tables)
    may = {
        t
        for t in tables
        if ledger.one("select has_table_privilege(%s, %s, 'select')", name, f"emq.{t}")
    }
    assert may == {table for table, roles in MAY_READ.items() if role in roles}
    for table in tables:
        writes = ledger.one(
            "select has_table_privilege(%s, %s, %s)", name, f"emq.{table}", ",".join(WRITES)
        )
        assert not writes, table
    for sequence in relations(ledger, "S"):
        uses = "usage,select,update"
        assert not ledger.one(
            "select has_sequence_privilege(%s, %s, %s)", name, f"emq.{sequence}", uses
        )
    assert not ledger.one("select has_schema_privilege(%s, 'emq', 'create')", name)
    assert ledger.one("select has_schema_privilege(%s, 'emq', 'usage')", name) == (role != NOBODY)


@pytest.mark.parametrize("role", ROLES)
def test_a_refusal_is_a_refusal_when_it_is_tried(db: Database, prefix: str, role: str) -> None:
    session = acting(db, prefix, role)
    for statement in (
        "select * from emq.active", "update emq.active set fence = 1", "delete from emq.job",
        "insert into emq.pending (id, queue, rank) values (gen_random_uuid(), 'q', 5)",
        "select payload from emq.job", "select nextval('emq.ord_seq')", "truncate emq.dead",
        "select emq.put_back('retry', '{}', '{}', '{}', '{}')", "select emq.sweep(null, null, 1)",
        "select emq.archived('{}')", "select emq.rest('{}', '{}', '{}', '{}', 'complete')",
        "create table emq.mine (x int)", "drop table emq.job",
    ):  # fmt: skip
        with refused("42501"):
            session.rows(statement)


def test_the_four_roles_do_their_work_and_own_nothing(
    db: Database, ledger: Ledger, prefix: str
) -> None:
    producer, worker, operator, reader = (acting(db, prefix, role) for role in ROLES)
    id = producer.add_one(payload='{"secret": 1}')
    held = worker.take()
    assert held.payload == {"secret": 1}
    assert worker.extend(held) == ["done"]
    worker.guard(held)
    assert reader.row("select place, worker from emq.place(%s)", id) == ("active", "w1")
    assert reader.one("select count(*) from emq.ledger") == 1
    assert operator.one("select payload from emq.envelope(%s)", id) == {"secret": 1}
    assert worker.complete(held, results=["1"]) == ["done"]
    assert producer.one("select result from emq.result(%s)", id) == 1
    operator.rows("select emq.pause('default', 'test')")
    assert operator.one("select verb from emq.audit") == "pause"
    assert worker.maintain()
    for session in (producer, worker, operator, reader):
        assert session.one("select version from emq.meta") == steps.newest()


def test_the_audit_names_the_login_and_not_the_owner_of_the_function(
    db: Database, ledger: Ledger, prefix: str
) -> None:
    login = f"{prefix}_login"
    ledger.run(f"create role {login} login in role {prefix}_operator")
    try:
        session = Ledger(db.connect(user=login))
        session.rows("select emq.pause('default')")
        assert ledger.one("select who from emq.audit") == login
    finally:
        ledger.run(f"drop role {login}")


def test_nothing_that_a_reader_sees_holds_a_payload_a_result_or_an_error(ledger: Ledger) -> None:
    seen = [table for table, roles in MAY_READ.items() if READER in roles]
    columns = ledger.column(
        "select column_name::text from information_schema.columns"
        " where table_schema = 'emq' and table_name = any (%s)", seen,
    )  # fmt: skip
    place = ledger.one("select pg_get_function_result('emq.place'::regproc)")
    for secret in ("payload", "headers", "result", "error", "detail", "fence"):
        assert secret not in columns
        assert secret not in place


def test_every_function_that_touches_a_table_runs_as_its_owner_with_a_pinned_path(
    ledger: Ledger,
) -> None:
    rows = ledger.rows(
        "select proname, prosecdef, coalesce(array_to_string(proconfig, ' '), '') from pg_proc"
        " where pronamespace = 'emq'::regnamespace"
    )
    assert {name for name, definer, _ in rows if not definer} == INVOKER
    pinned = "search_path=pg_catalog, pg_temp"
    assert [name for name, definer, config in rows if definer and pinned not in config] == []


def test_a_schema_in_front_of_the_path_changes_nothing(
    db: Database, ledger: Ledger, prefix: str
) -> None:
    """Functions, operators and temporary tables that would do something else if they were met."""
    ledger.add(2)
    held = ledger.claim(2)
    ledger.run(f"create schema evil; grant usage, create on schema evil to {prefix}_worker")
    session = acting(db, prefix, "worker")
    for trap in (
        "create function evil.cardinality(uuid[]) returns int language sql as 'select 0 / 0'",
        "create function evil.clock_timestamp() returns timestamptz language sql"
        " as $$ select 'infinity'::timestamptz $$",
        "create function evil.array_fill(text, int[]) returns text[] language sql"
        " as 'select array[(0 / 0)::text]'",
        "create function evil.same(uuid, uuid) returns boolean language sql as 'select true'",
        "create operator evil.= (leftarg = uuid, rightarg = uuid, procedure = evil.same)",
        "create function evil.same(bigint, bigint) returns boolean language sql as 'select true'",
        "create operator evil.= (leftarg = bigint, rightarg = bigint, procedure = evil.same)",
        "create temp table pg_locks (relation oid)",
        "create temp table unnest (id uuid)",
        "set search_path = evil, pg_temp, pg_catalog",
    ):
        session.run(trap)
    one, two = held
    # Called by their arrays alone: the client must not fall into its own traps.
    assert session.complete(one.stale, two) == ["lost", "done"]
    assert session.extend(one.stale) == ["lost"]
    with refused("EQ001"):
        session.guard(one.stale)
    session.run("select emq.enqueue('default', 't', '{}', null)")
    assert session.maintain()
    session.run("select id from emq.claim('default', 5, 'w', 1)")
    assert ledger.outcome(one) == "yours"
    assert ledger.one("select max(lease_deadline) < 'infinity' from emq.active")


def test_a_producer_gets_no_row_of_the_tables_through_an_error(
    db: Database, ledger: Ledger, prefix: str
) -> None:
    """A refused payload is the caller's own; nothing of another job is in the message."""
    ledger.add_one(payload='{"secret": "of another"}')
    session = acting(db, prefix, "producer")
    with pytest.raises(Exception) as caught:
        session.add_one(payload="[1]")
    assert "secret" not in str(caught.value)


def test_who_may_add_many_jobs_may_add_a_batch_after_the_step_that_brings_it(
    db: Database, ledger: Ledger, prefix: str
) -> None:
    """So that new code needs no new rights, and nobody gets one that they had not."""
    steps.downgrade(ledger.conn, to=6)
    producer, nobody = f"{prefix}_producer", f"{prefix}_reader"
    may = "select has_function_privilege(%s, 'emq.enqueue_batch'::regproc, 'execute')"
    steps.upgrade(ledger.conn)
    assert ledger.one(may, producer)
    assert not ledger.one(may, nobody)
