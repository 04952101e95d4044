"""Refusals cost nothing where nothing is lost, and a look by key where much is."""

from __future__ import annotations

from uuid import UUID

import pytest

from emq_sql.minting import new_id
from emq_sql.protocol import refusals
from tests.plans.plans import Node, Watch, watching
from tests.protocol.calls import Ledger

DAYS, A_DAY = 20, 500
# The first attempt of each job was lost, the second has completed it.
FILL = f"""
select emq.archive_days(0, (now() at time zone 'utc')::date - n) from generate_series(0, {DAYS}) n;
create table ids as
select emq.job_id(n::text, now() - (n % {DAYS}) * interval '1 day' - interval '1 h') as id, n
  from generate_series(1, {DAYS * A_DAY}) n;
insert into emq.job (id, priority, queue, task, payload, enqueued_at)
select id, 2, 'q', 't', '{{}}', emq.id_time(id) from ids;
insert into emq.attempt
  (id, fence, ended_at, claimed_at, lease_deadline, extensions, how, queue, worker)
select id, (1::bigint << 40) | 7, t + interval '10 min', t, t + interval '9 min', 0, 'stalled',
       'q', 'w'
  from ids, lateral (select emq.id_time(id) as t) x;
insert into emq.archive
  (id, fence, finished_at, claimed_at, attempts, stalled, failures, status, queue, worker,
   lease_deadline)
select id, (2::bigint << 40) | 7, t + interval '20 min', t + interval '11 min', 2, 1, 0,
       'completed', 'q', 'w', t + interval '30 min'
  from ids, lateral (select emq.id_time(id) as t) x
"""
HISTORY = ("archive", "attempt")


@pytest.fixture
def full(ledger: Ledger) -> Ledger:
    """A ledger with the history of many days, and statistics that know nothing of it."""
    ledger.conn.execute(FILL.encode())
    return ledger


def of_day(ledger: Ledger, day: int, n: int) -> list[UUID]:
    return ledger.column("select id from ids where n %% %s = %s limit %s", DAYS, day, n)


def history(watch: Watch) -> list[Node]:
    """The scans of history that were made."""
    return [
        node
        for statement in watch.statements
        for node in statement.nodes()
        if node["Node Type"].endswith("Scan")
        and node["Actual Loops"] > 0
        and node.get("Relation Name", "").split("_")[0] in HISTORY
    ]


def refused(ledger: Ledger, ids: list[UUID]) -> Watch:
    with watching(ledger) as watch:
        assert ledger.complete(*((id, (1 << 40) | 7) for id in ids)) == ["lost"] * len(ids)
    found = ledger.row("select count(*), count(late), count(overlap) from emq.refusal")
    assert found == (len(ids), len(ids), len(ids))
    return watch


def test_a_thousand_refusals_are_a_look_by_key_each(full: Ledger) -> None:
    ids = [id for day in range(DAYS) for id in of_day(full, day, 50)]
    watch = refused(full, ids)
    assert watch.unsafe() == []
    scans = history(watch)
    assert scans
    for node in scans:
        assert node["Node Type"] == "Index Scan", node
        assert node["Index Name"].endswith("_id_idx")
        assert "id = " in node["Index Cond"]
    # Two kinds of history, of which the refusal looks into each twice, and the answer once.
    assert max(node["Actual Loops"] for node in scans) <= len(ids)


def test_refusals_of_fresh_jobs_look_at_no_older_day(full: Ledger) -> None:
    scans = history(refused(full, of_day(full, 0, 200)))
    days = {node["Relation Name"] for node in scans}
    earliest = full.one("select to_char(now() at time zone 'utc' - interval '2 d', 'YYYYMMDD')")
    assert all(name[-8:] >= earliest for name in days), days


def test_a_refusal_locks_no_older_day(full: Ledger) -> None:
    """A day can be dropped while a transaction with a refused call is open."""
    (id,) = of_day(full, 0, 1)
    with full.conn.transaction():
        full.extend((id, (1 << 40) | 7))
        locked = full.column(
            "select relation::regclass::text from pg_locks where pid = pg_backend_pid()"
            " and relation::regclass::text ~ '^emq.(archive|attempt)_2[0-9]{7}$'"
        )
    earliest = full.one("select to_char(now() at time zone 'utc' - interval '2 d', 'YYYYMMDD')")
    assert locked and all(name[-8:] >= earliest for name in locked), locked


def test_one_old_job_among_fresh_ones_costs_itself_alone(full: Ledger) -> None:
    (old,) = of_day(full, DAYS - 1, 1)
    watch = refused(full, [*of_day(full, 0, 199), old])
    (insert,) = [s for s in watch.statements if "into emq.refusal" in s.query]
    long_ago = full.one("select to_char(now() at time zone 'utc' - interval '3 d', 'YYYYMMDD')")
    for node in insert.nodes():
        name = node.get("Relation Name", "")
        if name.split("_")[0] in HISTORY and name[-8:] <= long_ago:
            assert node["Actual Loops"] <= 1, node


def test_what_goes_well_looks_at_no_history_and_no_record(full: Ledger) -> None:
    full.add_many([new_id() for _ in range(20)])
    held = full.claim(20)
    with watching(full) as watch:
        assert full.extend(*held) == ["done"] * 20
        full.keep(*held)
        full.complete(*held[:10])
        full.release(*held[10:])
    assert history(watch) == []
    assert not [s for s in watch.statements if "emq.refus" in s.query or "refusal" in s.query]


@pytest.mark.parametrize(
    ("asked", "index"),
    [
        ({"job": True}, "refusal_id_idx"),
        ({"hours": True}, "refusal_at_idx"),
        ({}, "refusal_at_idx"),
    ],
    ids=["of a job", "since", "the newest"],
)
def test_readers_find_refusals_by_an_index(
    full: Ledger, asked: dict[str, bool], index: str
) -> None:
    full.run(
        "insert into emq.refusal (at, id, fence, verb)"
        " select now() - n * interval '1 min', id, 1, 'guard' from ids"
    )
    full.run("vacuum analyze emq.refusal")
    (job,) = of_day(full, 3, 1)
    hour = full.one("select interval '1 h'")
    with watching(full, nested=False) as watch:
        rows = refusals.listed(
            full.conn, "emq", job=job if "job" in asked else None,
            since=hour if "hours" in asked else None, limit=20,
        )  # fmt: skip
    assert len(rows) == (1 if "job" in asked else 20)
    scans = [node for _, node in watch.scans({"refusal"})]
    assert {node["Index Name"] for node in scans} == {index}
    assert sum(node["Actual Rows"] for node in scans) < 100
