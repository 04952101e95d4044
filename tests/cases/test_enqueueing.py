"""Jobs enter by any door under the same rules, and never behind the back of a transaction."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from emq_sql import EMQ, Task
from emq_sql.errors import Retryable
from emq_sql.minting import new_id
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger

Send = Task[[int], None]


@pytest.fixture
def emq(db: Database) -> Iterator[EMQ]:
    made = EMQ(db.dsn)
    yield made
    made.engine.dispose()


@pytest.fixture
def send(emq: EMQ) -> Send:
    @emq.task(name="send")
    def send(n: int) -> None: ...

    return send


@pytest.fixture
def orders(db: Database) -> Iterator[sqlalchemy.Engine]:
    """The application's own engine, and a table of its business."""
    made = sqlalchemy.create_engine(db.dsn.replace("postgresql:", "postgresql+psycopg:", 1))
    with made.begin() as connection:
        connection.exec_driver_sql("create table orders (n int)")
    yield made
    made.dispose()


@pytest.mark.parametrize("door", ["application", "sql"])
def test_many_at_once_keep_the_same_rules_as_one_by_one_and_say_so_in_order(
    emq: EMQ, send: Send, ledger: Ledger, door: str
) -> None:
    known = [new_id() for _ in range(5)]
    for id in known:
        assert ledger.status(id) == "enqueued"
    fresh = [new_id() for _ in range(985)]
    ids = fresh[:500] + known + fresh[100:110] + fresh[500:]
    if door == "sql":
        answers = ledger.add_many(ids)
    else:
        jobs = [send.using(job_id=id).job(n=n) for n, id in enumerate(ids)]
        told = emq.enqueue_many(jobs)
        assert [answer.id for answer in told] == ids
        answers = [answer.status for answer in told]
    expected = ["enqueued"] * 500 + ["duplicate"] * 15 + ["enqueued"] * 485
    assert answers == expected
    line = ledger.column("select id from emq.pending order by ord")
    assert line == known + fresh
    # The same rules: each of them again, one by one, is a duplicate.
    assert {ledger.status(id) for id in ids[::50]} == {"duplicate"}
    assert ledger.one("select count(*) from emq.job") == 990


def test_ten_thousand_jobs_of_one_task_use_up_no_sequence_but_that_of_the_line(
    ledger: Ledger,
) -> None:
    """Repeats of known ids take no number either."""
    sequences = "select sequencename, coalesce(last_value, 0) from pg_sequences"
    before = dict(ledger.rows(sequences))
    batches = [[new_id() for _ in range(1000)] for _ in range(10)]
    for ids in batches:
        assert set(ledger.add_many(ids)) == {"enqueued"}
    lined_up = dict(ledger.rows(sequences))["ord_seq"]
    for ids in batches:
        assert set(ledger.add_many(ids)) == {"duplicate"}
    assert ledger.status(batches[0][0]) == "duplicate"
    after = dict(ledger.rows(sequences))
    grown = {name: after[name] - before[name] for name in after}
    assert {name: n for name, n in grown.items() if n > 1} == {"ord_seq": 10_000}
    assert after["ord_seq"] == lined_up
    narrow = "select sequencename from pg_sequences where data_type <> 'bigint'::regtype"
    assert ledger.rows(narrow) == []


def test_enqueueing_in_a_transaction_whose_session_has_ended_fails_and_leaves_neither_row(
    send: Send, orders: sqlalchemy.Engine, ledger: Ledger
) -> None:
    with Session(orders) as session:
        session.execute(text("insert into orders values (1)"))
        pid = session.scalar(text("select pg_backend_pid()"))
        assert ledger.one("select pg_terminate_backend(%s, 20000)", pid)
        for _ in range(2):
            with pytest.raises(Retryable):
                send.using(session=session).enqueue(n=1)
        with pytest.raises(DBAPIError):
            session.commit()
    assert ledger.one("select count(*) from orders") == 0
    assert ledger.one("select count(*) from emq.job") == 0


STRIKES = """
create sequence calls;
create function strike() returns trigger language plpgsql security definer as $$
begin
  if nextval('public.calls') <= tg_argv[0]::int then
    raise exception 'struck' using errcode = tg_argv[1];
  end if;
  return null;
end $$;
create trigger strike before insert or delete on emq.{} for each statement
  execute function strike({}, '{}');
"""
RETRYABLE = ("40001", "40P01", "55P03", "57014")


@pytest.mark.parametrize("state", RETRYABLE)
def test_what_the_server_aborted_is_tried_again_in_our_own_transactions_and_never_in_a_callers(
    send: Send, orders: sqlalchemy.Engine, ledger: Ledger, state: str
) -> None:
    ledger.run(STRIKES.format("job", 3, state))
    with Session(orders) as session:
        session.execute(text("insert into orders values (1)"))
        with pytest.raises(Retryable):
            send.using(session=session).enqueue(n=1)
        assert ledger.one("select last_value from calls") == 1
        with pytest.raises(DBAPIError):  # its transaction has failed, and nobody rolled it back
            session.execute(text("select 1"))
    assert send.enqueue(n=2).status == "enqueued"
    assert ledger.one("select last_value from calls") == 4
    assert ledger.one("select count(*) from orders") == 0
    assert ledger.column("select payload -> 'n' from emq.job") == [2]
