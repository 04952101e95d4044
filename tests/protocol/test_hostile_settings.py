"""What a DBA does around the ledger, or to it, stops no recovery."""

from __future__ import annotations

import psycopg
import pytest

from emq_sql.errors import SchemaMissing
from emq_sql.protocol import steps
from tests.protocol.calls import Ledger

FORBID_DDL = """
create function public.forbid() returns event_trigger language plpgsql as $$
begin raise exception 'no DDL here'; end $$;
create event trigger forbid on ddl_command_start execute function public.forbid();
"""
ALL_BUT_META = """
truncate emq.active, emq.archive, emq.attempt, emq.audit, emq.dead, emq.job, emq.pending, emq.queue,
  emq.reap_log, emq.refusal, emq.retiring, emq.scheduled, emq.settled, emq.worker
"""
TABLES = """
select c.relname from pg_class c
 where c.relnamespace = 'emq'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
"""


def recovers(ledger: Ledger) -> None:
    """A due job is promoted, an expired lease is reaped, and both end as completed."""
    later = ledger.add_one("later", delay="50 ms")
    held = ledger.abandoned()
    ledger.wait(
        "clock_timestamp() > enqueued_at + interval '50 ms' from emq.job where id = %s", later
    )
    assert ledger.claimed(7)
    assert ledger.maintain()
    assert ledger.place(held.id) == ledger.place(later) == "pending"
    for _ in range(3):  # the floors are published by the passes after it
        assert ledger.maintain()
    assert ledger.complete(ledger.take(), ledger.take("later")) == ["done"] * 2


def test_a_publication_of_all_tables_stops_no_verb(ledger: Ledger) -> None:
    """Such a publication makes each delete from a table without a key fail."""
    ledger.run("create publication everything for all tables")
    recovers(ledger)
    ledger.run("insert into emq.reap_log values (default, now() - interval '2 d', 0, 0, 0, 'old')")
    ledger.abandoned()
    assert ledger.reap() == (1, 0, 0)
    dead = ledger.take(worker="w2")
    ledger.run("update emq.job set max_attempts = 1 where id = %s", dead.id)
    assert ledger.retry(dead) == ["dead"]
    assert ledger.operate("replay", dead.id) == "done"
    assert ledger.retry(ledger.take()) == ["dead"]
    assert ledger.operate("discard", dead.id) == "done"
    assert ledger.operate("cancel", ledger.add_one()) == "done"


def test_each_row_that_is_deleted_can_be_named_to_a_subscriber(ledger: Ledger) -> None:
    """By its key, or as a whole; a partitioned table has no rows of its own."""
    nameless = ledger.column(
        TABLES + " and c.relkind = 'r' and c.relreplident <> 'f'"
        " and not exists (select from pg_index i where i.indrelid = c.oid and indisprimary)"
    )
    assert nameless == []


def test_where_ddl_is_forbidden_jobs_still_come_back(ledger: Ledger) -> None:
    for parent in ("archive", "attempt"):
        last = max(ledger.column(
            "select inhrelid::regclass::text from pg_inherits where inhparent = %s::regclass"
            " and inhrelid::regclass::text !~ 'default'", f"emq.{parent}",
        ))  # fmt: skip
        ledger.run(f"drop table {last}")
    ledger.run(FORBID_DDL)
    said: list[str] = []
    ledger.conn.add_notice_handler(lambda notice: said.append(notice.message_primary or ""))
    recovers(ledger)
    assert "could not be made: no DDL here" in said[0]
    ledger.run("alter event trigger forbid disable")
    assert ledger.one("select emq.archive_days(3)") == 2


def test_after_a_truncate_of_all_tables_jobs_still_come_back(ledger: Ledger) -> None:
    recovers(ledger)
    ledger.run(ALL_BUT_META)
    recovers(ledger)
    assert ledger.one("select count(*) from emq.settled") == 1


def test_a_ledger_without_its_row_of_meta_says_so(ledger: Ledger) -> None:
    ledger.run("truncate emq.meta")
    with pytest.raises(SchemaMissing, match=r"row of emq\.meta is gone"):
        steps.upgrade(ledger.conn)
    directions: tuple[steps.Direction, ...] = ("up", "down")
    for direction in directions:
        with pytest.raises(psycopg.Error, match=r"row of emq\.meta is gone") as refusal:
            ledger.conn.execute(steps.render(steps.all_steps()[0], direction).encode())
        assert refusal.value.sqlstate == "EQ004"
    ledger.run(f"insert into emq.meta (version) values ({steps.newest()})")
    assert steps.upgrade(ledger.conn) == []


@pytest.mark.parametrize("n", [1, 10])
def test_a_sequence_that_was_set_back_hides_no_job(ledger: Ledger, third: Ledger, n: int) -> None:
    """A replica, or a restore of the rows alone, leaves the value of the sequence out."""
    for _ in range(4):
        ledger.add(20)
        assert ledger.complete(*ledger.claim(20)) == ["done"] * 20
        ledger.maintain()
    assert ledger.one("select max(w) from emq.settled") > 40
    ledger.run("alter sequence emq.ord_seq restart")
    id = ledger.add_one()
    found = [held for _ in range(200) for held in third.claim(n)]  # a session that knows no floor
    assert [held.id for held in found] == [id]
    id = ledger.add_one()
    found = [held for _ in range(200) for held in ledger.claim(n)]  # one that holds a floor
    assert [held.id for held in found] == [id]
    ledger.maintain()
    assert ledger.one("select max(w) from emq.settled") < 20
