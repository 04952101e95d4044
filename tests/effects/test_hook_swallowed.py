"""A guard's refusal swallowed within its transaction: where the commit is refused all the same."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from emq_sql.errors import LeaseLost
from tests.effects.conftest import WRITE, Pool, Running
from tests.plugins.databases import Database

BLOCK = "do $$ begin perform emq.{} ; exception when others then null; end $$"
GUARD = "guard('{id}', {fence})"
SETTLE = "settle('{id}', {fence}, 'complete', true)"
WAYS = pytest.mark.parametrize("call", [GUARD, SETTLE], ids=["guard", "settle"])


def swallowed(call: str, run: Running) -> str:
    return BLOCK.format(call.format(id=run.held.id, fence=run.held.fence))


@WAYS
def test_a_refusal_swallowed_in_a_block_of_plpgsql_is_met_again_at_the_commit(
    run: Running, pool: Pool, call: str
) -> None:
    run.lose()

    def stubborn(session: Session) -> None:
        session.execute(WRITE, {"n": 1})
        session.execute(text(swallowed(call, run)))
        session.commit()

    with pytest.raises(LeaseLost):
        pool.session(stubborn)
    assert run.written() == []


def test_a_refusal_behind_a_savepoint_is_met_again_at_the_commit(run: Running, pool: Pool) -> None:
    run.lose()
    guard = text(f"select emq.{GUARD.format(id=run.held.id, fence=run.held.fence)}::text")

    def stubborn(session: Session) -> None:
        session.execute(WRITE, {"n": 1})
        with pytest.raises(Exception, match="is lost"), session.begin_nested():
            session.execute(guard)
        session.commit()

    with pytest.raises(LeaseLost):
        pool.session(stubborn)
    assert run.written() == []


@WAYS
def test_on_a_raw_driver_a_swallowed_refusal_stops_nothing_as_the_page_says(
    run: Running, db: Database, call: str
) -> None:
    run.lose()
    with db.connect(autocommit=False) as raw:
        raw.execute("insert into effect values (1)")
        raw.execute(swallowed(call, run).encode())
    assert run.written() == [1]
