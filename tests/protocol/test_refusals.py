"""refusal: each stale call that was refused is a row, with how late it was and what it cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emq_sql.minting import new_id
from emq_sql.protocol import steps
from tests.plugins.databases import Database
from tests.protocol.calls import Held, Ledger, Pair
from tests.protocol.history import days_ago, finished, tidied

ZERO = timedelta(0)
KNOWN = "task, queue, worker, attempts, verb"
WHOLE = f"select at, held, late, overlap, {KNOWN} from emq.refusal"


def lost(ledger: Ledger, **named: Any) -> Held:
    """One whose lease ended, and whose job waits again."""
    held = ledger.abandoned(**named)
    ledger.reap()
    return held


def rows(ledger: Ledger) -> list[Any]:
    return ledger.rows(WHOLE + " order by at")


def test_a_refusal_says_whose_it_was_how_late_and_how_long_beside_the_next_attempt(
    ledger: Ledger,
) -> None:
    held = lost(ledger, worker="slow")
    second = ledger.take(worker="quick")
    assert ledger.complete(held) == ["lost"]
    ((at, holds, late, overlap, *known),) = rows(ledger)
    assert known == ["t", "default", "slow", 1, "complete"]
    assert holds == second.fence
    deadline = ledger.one("select lease_deadline from emq.attempt where fence = %s", held.fence)
    claimed = ledger.one("select claimed_at from emq.active")
    assert late == at - deadline > ZERO
    assert overlap == at - claimed > ZERO


def test_the_overlap_ends_with_the_next_attempt_however_late_the_refusal(ledger: Ledger) -> None:
    held = lost(ledger)
    ledger.complete(ledger.take())
    assert ledger.extend(held) == ["lost"]
    assert ledger.complete(held) == ["lost"]
    ran = ledger.one("select finished_at - claimed_at from emq.archive")
    assert [row[3] for row in rows(ledger)] == [ran, ran]


def test_of_several_later_attempts_the_next_one_counts(ledger: Ledger) -> None:
    ledger.set_queue(max_stalled=100)
    first = lost(ledger)
    second = ledger.stall()
    third = ledger.stall()
    ledger.claim(1)
    assert ledger.complete(third, first, second) == ["lost"] * 3
    query = "select (fence >> 40)::int, ended_at - claimed_at from emq.attempt"
    runs: dict[int, timedelta] = dict(ledger.rows(query))
    found = {row[7]: row[3] for row in rows(ledger)}
    assert (found[1], found[2]) == (runs[2], runs[3])
    assert found[3] > ZERO


def test_a_job_that_nobody_has_claimed_again_has_no_overlap(ledger: Ledger) -> None:
    held = lost(ledger)
    ledger.complete(held)
    ((_, holds, late, overlap, *_),) = rows(ledger)
    assert (holds, overlap) == (None, None)
    assert late > ZERO


def taken_back(ledger: Ledger, held: Held) -> None:
    ledger.rows("select * from emq.release_worker('w1', 10)")


def cancelled(ledger: Ledger, held: Held) -> None:
    ledger.operate("cancel", held.id)


def released(ledger: Ledger, held: Held) -> None:
    ledger.release(held)


@pytest.mark.parametrize("end", [taken_back, cancelled, released], ids=lambda end: end.__name__)
def test_whose_claim_ended_before_its_lease_did_is_not_late(
    ledger: Ledger, end: Callable[[Ledger, Held], None]
) -> None:
    held = ledger.start(worker="w1")
    end(ledger, held)
    ledger.run(  # an hour ago, so that its lease would be over by now
        "update emq.attempt set claimed_at = claimed_at - interval '1 h',"
        " ended_at = ended_at - interval '1 h', lease_deadline = lease_deadline - interval '1 h'"
    )
    again = ledger.claim(1)
    assert ledger.complete(held) == ["lost"]
    ((_, _, late, overlap, _, _, worker, attempts, _),) = rows(ledger)
    assert (late, worker, attempts) == (None, "w1", 1)
    assert (overlap is not None) == bool(again)


def complete_and_claim(ledger: Ledger, held: Held) -> None:
    ledger.rows(
        "select * from emq.complete_and_claim(%s::uuid[], %s::bigint[], null, 'none', 1, 'w', 9)",
        [held.id], [held.fence],
    )  # fmt: skip


VERBS: dict[str, tuple[str, Callable[[Ledger, Held], object]]] = {
    "complete": ("complete", lambda ledger, held: ledger.complete(held)),
    "complete_and_claim": ("complete", complete_and_claim),
    "extend": ("extend", lambda ledger, held: ledger.extend(held)),
    "keep": ("extend", lambda ledger, held: ledger.keep(held)),
    "fail": ("fail", lambda ledger, held: ledger.fail(held, reason="exception")),
    "retry": ("retry", lambda ledger, held: ledger.retry(held)),
    "snooze": ("snooze", lambda ledger, held: ledger.snooze(held, delay="1 h")),
    "release": ("release", lambda ledger, held: ledger.release(held)),
    "stall": ("stall", lambda ledger, held: ledger.stall_at_once(held)),
}


@pytest.mark.parametrize("call", VERBS)
def test_each_verb_is_recorded_once_under_its_name(ledger: Ledger, call: str) -> None:
    verb, do = VERBS[call]
    held = lost(ledger)
    do(ledger, held)
    assert [row[4:] for row in rows(ledger)] == [("t", "default", "w1", 1, verb)]


def settled(ledger: Ledger, held: Held, how: str) -> None:
    """By its own holder."""
    if how == "complete":
        ledger.complete(held)
    elif how == "fail":
        ledger.fail(held, reason="timeout")
    elif how == "snooze":
        ledger.snooze(held, delay="1 h")
    else:
        ledger.retry(held, delay="1 h")


@pytest.mark.parametrize("how", ["complete", "fail", "snooze", "retry"])
def test_an_extension_that_meets_its_own_holders_settlement_is_no_refusal(
    ledger: Ledger, how: str
) -> None:
    held = ledger.start()
    settled(ledger, held, how)
    assert ledger.extend(held) == ["lost"]
    assert ledger.keep(held)[0] == ["lost"]
    assert rows(ledger) == []
    assert ledger.snooze(held, delay="1 h") == ["lost"]  # another end is one
    assert [row[4:] for row in rows(ledger)] == [("t", "default", "w1", 1, "snooze")]


def test_an_extension_of_what_an_operator_took_back_is_a_refusal(ledger: Ledger) -> None:
    held = ledger.start()
    taken_back(ledger, held)
    ledger.extend(held)
    assert [row[4:] for row in rows(ledger)] == [("t", "default", "w1", 1, "extend")]


def note(
    ledger: Ledger, pairs: Sequence[Pair], verbs: Sequence[str | None], ago: Sequence[str | None],
    **named: bool,
) -> int:  # fmt: skip
    split = [(pair.id, pair.fence) if isinstance(pair, Held) else pair for pair in pairs]
    ids, fences = [id for id, _ in split], [fence for _, fence in split]
    again = "".join(f", p_{name} => {value}" for name, value in named.items())
    query = f"select emq.note_refusals(%s::uuid[], %s::bigint[], %s::text[], %s::interval[]{again})"
    answer: int = ledger.one(query, ids, fences, list(verbs), list(ago))
    return answer


def test_a_note_is_of_the_instant_at_which_the_refusal_was_met(ledger: Ledger) -> None:
    held = lost(ledger)
    second = ledger.take()
    assert note(ledger, [held, held], ["guard", "complete"], ["0", "1 h"]) == 2
    (early, now) = rows(ledger)
    assert (early[8], now[8]) == ("complete", "guard")
    assert abs(now[0] - early[0] - timedelta(hours=1)) < timedelta(seconds=10)
    # An hour ago the lease ran, and nobody else had the job.
    assert (early[2], early[3]) == (None, None)
    assert now[1] == second.fence and now[2] > ZERO and now[3] > ZERO


def test_nothing_is_noted_of_a_claim_that_is_held(ledger: Ledger) -> None:
    held = ledger.start()
    assert note(ledger, [held], ["guard"], ["0"]) == 0
    assert rows(ledger) == []


@pytest.mark.parametrize("fences", [[], [None]], ids=["fewer", "null"])
def test_nothing_is_noted_of_what_has_no_fence(ledger: Ledger, fences: list[None]) -> None:
    held = ledger.start()
    query = "select emq.note_refusals(%s, %s::bigint[], array['guard'], null)"
    assert ledger.one(query, [held.id], fences) == 0
    assert rows(ledger) == []


def test_a_note_sent_again_is_recorded_once_and_another_one_is_another_one(
    ledger: Ledger,
) -> None:
    held, other = lost(ledger), lost(ledger, queue="other")
    assert note(ledger, [held, held], ["guard", "guard"], ["1 s", "1 s"]) == 2
    pairs, verbs = [held, held, other], ["guard", "complete", "guard"]
    assert note(ledger, pairs, verbs, ["2 s"] * 3, again=True) == 2
    found = ledger.rows("select id, verb from emq.refusal")
    expected = [(held.id, "guard"), (held.id, "guard"), (held.id, "complete"), (other.id, "guard")]
    assert sorted(found) == sorted(expected)


def test_a_completion_repeated_under_the_fence_that_completed_it_is_no_refusal(
    ledger: Ledger,
) -> None:
    held = ledger.start()
    ledger.complete(held)
    assert note(ledger, [held, held], ["complete", "guard"], ["0", "0"]) == 1
    assert [row[4:] for row in rows(ledger)] == [("t", "default", "w1", 1, "guard")]


IDS = st.one_of(
    st.none(),
    st.builds(new_id),
    st.builds(uuid4),
    st.integers(0, 2**128 - 1).map(lambda n: UUID(int=n & ~(15 << 76) | 7 << 76)),
    st.uuids(),
    st.sampled_from([UUID(int=0), UUID("ffffffff-ffff-7fff-bfff-ffffffffffff")]),
)
FENCES = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))
LENGTHS = st.sampled_from([None, "0", "1 h", "-1 h", "1000000 years", "-1000000 years"])
WORDS = st.sampled_from([None, "", "guard", "x" * 1000, "\u2603"])


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.tuples(IDS, FENCES, WORDS, LENGTHS), max_size=6))
def test_nothing_that_can_be_given_raises(ledger: Ledger, given: Any) -> None:
    pairs = [(id, fence) for id, fence, _, _ in given]
    lost = ["lost"] * len(pairs)
    assert ledger.complete(*pairs) == lost
    assert ledger.extend(*pairs) == lost
    note(ledger, pairs, [verb for *_, verb, _ in given], [ago for *_, ago in given])
    assert ledger.one("select count(*) from emq.refusal where late is not null") == 0
    assert ledger.one("select count(*) from emq.refusal where overlap is not null") == 0


def test_a_fence_that_nobody_had_costs_nobody_anything(ledger: Ledger) -> None:
    held = ledger.start()
    for fence in (held.fence + 1, 5, 0, -1, None):
        assert ledger.complete((held.id, fence)) == ["lost"]
    found = ledger.rows("select worker, attempts, late, overlap, held from emq.refusal order by at")
    attempts = [1, None, None, None, None]
    assert found == [(None, n, None, None, held.fence) for n in attempts]


def test_what_is_kept_no_more_is_not_told_and_not_missed(ledger: Ledger) -> None:
    day = days_ago(ledger, 40)
    (old,) = finished(ledger, 1, day)
    fence = ledger.one("select fence from emq.archive")
    ledger.add(1)
    tidied(ledger)
    assert ledger.place(ledger.add_one()) == "pending"
    assert ledger.complete((old, fence)) == ["lost"]
    assert rows(ledger)[0][2:] == (None, None, None, None, None, 1, "complete")
    # Of one whose envelope alone is gone the rest is told.
    held = lost(ledger, queue="q")
    ledger.complete(ledger.take("q"))
    ledger.run("delete from emq.job where id = %s", held.id)
    ledger.complete(held)
    task, queue, worker = ledger.row(
        "select task, queue, worker from emq.refusal where id = %s", held.id
    )
    assert (task, queue, worker) == (None, "q", "w1")
    assert ledger.one("select overlap from emq.refusal where id = %s", held.id) > ZERO
    ledger.run("delete from emq.archive where id = %s", held.id)


ENDS = ("stall", "retry", "release", "taken back", "stall at once")
# Each refusal with the attempt after it, if that was claimed by then.
BESIDE = """
select r.late, r.overlap, n.ran,
       (select a.lease_deadline <= a.ended_at from emq.attempt a
         where a.id = r.id and a.fence = r.fence) as outlived
  from emq.refusal r
  left join lateral (
    select x.ran from (
      select a.fence >> 40 as n, a.claimed_at, a.ended_at - a.claimed_at as ran from emq.attempt a
       where a.id = r.id
      union all
      select a.fence >> 40, a.claimed_at, a.finished_at - a.claimed_at from emq.archive a
       where a.id = r.id
      union all
      select a.fence >> 40, a.claimed_at, clock_timestamp() - a.claimed_at from emq.active a
       where a.id = r.id) x
     where x.n > r.fence >> 40 and x.claimed_at < r.at order by x.n limit 1) n on true
"""


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.tuples(st.sampled_from(ENDS), st.booleans()), min_size=1, max_size=5),
    st.sampled_from(["waits", "held", "completed", "cancelled"]),
)
def test_an_overlap_is_never_negative_and_never_longer_than_the_next_attempt(
    ledger: Ledger, ends: Any, last: str
) -> None:
    """Any history of one job, in which former holders call at any time."""
    ledger.set_queue(max_stalled=100, max_attempts=100)
    id = ledger.add_one()
    former: list[Held] = []
    for end, they_call in ends:
        held = ledger.take(lease="1 ms" if end == "stall" else "1 min")
        if they_call and former:
            ledger.complete(*former)
        if end == "stall":
            ledger.expire(held)
            ledger.reap()
        elif end == "retry":
            ledger.retry(held)
        elif end == "release":
            ledger.release(held)
        elif end == "taken back":
            taken_back(ledger, held)
        else:
            ledger.stall_at_once(held)
        former.append(held)
        if they_call:
            ledger.snooze(held, delay="1 h")
    if last != "waits":
        held = ledger.take()
        if last == "completed":
            ledger.complete(held)
    if last == "cancelled":
        ledger.operate("cancel", id)
    ledger.complete(*former)
    found = ledger.rows(BESIDE)
    assert len(found) >= len(former)
    for late, overlap, ran, outlived in found:
        assert (overlap is None) == (ran is None)
        assert overlap is None or ZERO <= overlap <= ran
        assert (late is not None) == outlived
        assert late is None or late > ZERO
    ledger.operate("cancel", id)
    ledger.run("delete from emq.refusal")


def test_a_downgrade_and_an_upgrade_keep_the_rows(
    ledger: Ledger, db: Database, third: Ledger
) -> None:
    held = lost(ledger)
    ledger.complete(ledger.take())
    ledger.complete(held)
    before = ledger.row("select at, id, fence, held, verb from emq.refusal")
    with psycopg.connect(db.dsn) as conn:
        steps.downgrade(conn, to=4)
        conn.commit()
        assert third.row("select * from emq.refusal") == before
        third.complete(held)
        steps.upgrade(conn, schema="emq")
    assert third.one("select count(*) from emq.refusal") == 2
    third.extend(held)
    assert third.row(f"select {KNOWN} from emq.refusal order by at desc limit 1") == (
        "t", "default", "w1", 1, "extend"
    )  # fmt: skip
