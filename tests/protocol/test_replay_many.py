"""replay_many: what a filter chooses goes back, each job once, and what stays is told with why."""

from __future__ import annotations

import threading

from emq_sql.minting import new_id
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger, refused
from tests.protocol.conftest import NEVER_WAIT
from tests.protocol.letters import Chunk, die, discard, found, line, old, replay


def test_permanent_failures_stay_and_are_told_unless_they_are_asked_for(ledger: Ledger) -> None:
    permanent = [die(ledger, reason="permanent").id for _ in range(3)]
    transient = [die(ledger, f"q{n}").id for n in range(7)]
    done = replay(ledger)
    assert (done.replayed, done.stays) == (7, {"permanent": 3})
    assert [line(ledger, f"q{n}") for n in range(7)] == [[id] for id in transient]
    assert found(ledger) == permanent[::-1]
    assert replay(ledger, queue="default").stays == {"permanent": 3}
    assert replay(ledger, ids=[str(permanent[0])]).replayed == 1
    assert replay(ledger, reason="permanent", min_attempts=2).replayed == 0
    assert replay(ledger, include_permanent=True, limit=1).replayed == 1
    assert replay(ledger, reason=["exception", "permanent"]).replayed == 1
    assert sorted(line(ledger)) == sorted(permanent)


def test_what_came_too_late_stays_like_a_permanent_failure(ledger: Ledger) -> None:
    died = die(ledger, reason="expired").id
    assert replay(ledger, include_permanent=False).stays == {"permanent": 1}
    assert replay(ledger, reason="expired").replayed == 1
    assert line(ledger) == [died]


def test_every_other_reason_goes_back(ledger: Ledger) -> None:
    reasons = ("exception", "stalled", "timeout", "no handler")
    died = {reason: die(ledger, reason.replace(" ", "-"), reason=reason) for reason in reasons}
    assert replay(ledger).replayed == len(reasons)
    for reason, held in died.items():
        assert ledger.take(reason.replace(" ", "-")).id == held.id


def test_a_job_keeps_id_and_attempts_and_starts_with_fresh_budgets(ledger: Ledger) -> None:
    ledger.add_one(max_attempts=2, lease="200 ms", priority=1)
    ledger.stall()
    stale = ledger.take()
    ledger.retry(stale)
    assert replay(ledger).replayed == 1
    held = ledger.take()
    assert (held.id, held.attempts) == (stale.id, 3)
    assert (held.stalled, held.failures, held.lease_ms) == (0, 0, 200)
    assert held.fence > stale.fence
    assert ledger.retry(held) == ["pending"]


def test_who_held_a_job_before_it_died_can_do_nothing_for_it(ledger: Ledger) -> None:
    stale = die(ledger, reason="stalled")
    assert replay(ledger).replayed == 1
    for verb in (ledger.complete, ledger.retry, ledger.extend):
        assert verb(stale) == ["lost"]
    held = ledger.take(nonce=7)  # the same nonce
    for verb in (ledger.complete, ledger.retry, ledger.extend):
        assert verb(stale) == ["lost"]
    assert ledger.outcome(stale) == "superseded"
    assert ledger.complete(held) == ["done"]


def test_jobs_join_the_tail_of_their_levels_in_the_order_of_their_deaths(ledger: Ledger) -> None:
    first, second = die(ledger), die(ledger)
    urgent = die(ledger, priority=0)
    recovered, fresh = ledger.add(2)
    assert ledger.release(ledger.take()) == ["pending"]
    assert replay(ledger).replayed == 3
    assert line(ledger) == [urgent.id, recovered, fresh, first.id, second.id]


def test_a_queue_that_never_replays_keeps_its_letters(ledger: Ledger) -> None:
    ledger.set_queue("mail", replay_within="0")
    died = die(ledger, "mail")
    other = die(ledger)
    assert replay(ledger).stays == {"never": 1}
    assert replay(ledger, ids=[str(died.id)]).stays == {"never": 1}
    assert found(ledger) == [died.id]
    assert line(ledger) == [other.id]
    ledger.set_queue("mail", replay_within=None)
    assert replay(ledger).replayed == 1


def test_a_queue_that_replays_within_an_age_keeps_what_is_older(ledger: Ledger) -> None:
    ledger.set_queue(replay_within="0.3 s")
    held = die(ledger)
    assert replay(ledger).replayed == 1
    assert ledger.retry(ledger.take()) == ["dead"]
    ledger.wait("clock_timestamp() > (select died_at + interval '0.3 s' from emq.dead)")
    assert replay(ledger).stays == {"too old": 1}
    assert found(ledger) == [held.id]
    ledger.set_queue(replay_within="1000000 years")
    assert replay(ledger).replayed == 1


def test_a_dry_run_counts_what_a_replay_then_does(ledger: Ledger) -> None:
    ledger.set_queue("never", replay_within="0")
    die(ledger, "never")
    die(ledger, "never", reason="permanent")
    for reason in ("exception", "permanent", "stalled"):
        die(ledger, reason=reason)
    counted = ledger.row("select replay, permanent, never, too_old from emq.replay_count('{}')")
    assert counted == (2, 1, 2, 0)
    assert len(found(ledger)) == 5
    done = replay(ledger)
    assert (done.replayed, done.permanent, done.never, done.too_old) == counted


def test_chunks_look_at_each_letter_once_and_at_the_end_say_so(ledger: Ledger) -> None:
    for n in range(7):
        die(ledger, f"q{n % 2}", reason="permanent" if n % 3 == 0 else "exception")
        replay(ledger, ids=[])
    chunks: list[Chunk] = []
    while not chunks or chunks[-1].next is not None:
        chunks.append(replay(ledger, limit=2, after=chunks[-1].next if chunks else None))
        assert len(chunks) <= 4
    assert [(c.replayed, c.permanent) for c in chunks] == [(1, 1), (1, 1), (2, 0), (0, 1)]
    assert [c.queues for c in chunks] == [["q1"], ["q0"], ["q0", "q1"], []]


def test_what_no_letter_comes_after_is_refused(ledger: Ledger) -> None:
    die(ledger)
    for after in ({}, {"died_at": "x", "id": "y"}, [], {"id": None}):
        with refused("EQ006", hint="died_at and id"):
            replay(ledger, after=after)
    assert len(found(ledger)) == 1


def test_a_job_that_dies_again_is_not_replayed_twice_by_one_run(ledger: Ledger) -> None:
    for _ in range(3):
        die(ledger)
    (at,) = ledger.column("select at from emq.replay_count('{}')")
    chunk, replayed = None, 0
    while chunk is None or chunk.next is not None:
        chunk = replay(ledger, limit=1, after=chunk and chunk.next, died_before=at.isoformat())
        replayed += chunk.replayed
        for held in ledger.claim(5):
            assert ledger.retry(held) == ["dead"]
        assert replayed <= 3
    assert replayed == 3
    assert len(found(ledger)) == 3


def test_each_replay_is_on_record_with_the_label(ledger: Ledger) -> None:
    ids = [die(ledger).id for _ in range(2)]
    die(ledger, reason="permanent")
    replay(ledger, label="fixed in 1.2")
    rows = ledger.rows("select verb, queue, id, label, detail from emq.audit order by id")
    detail = {"reason": "exception", "stalled": 0, "failures": 1}
    assert rows == [("replay", "default", id, "fixed in 1.2", detail) for id in ids]


def test_old_letters_without_a_task_go_back_too(ledger: Ledger) -> None:
    held = die(ledger, task="send")
    old(ledger, held)
    assert replay(ledger, task="read").replayed == 0
    assert replay(ledger, task="send").replayed == 1
    assert ledger.take().task == "send"


def test_a_letter_that_another_is_moving_is_busy_and_nobody_waits(
    ledger: Ledger, other: Ledger
) -> None:
    for _ in range(3):
        die(ledger)
    first, second, _ = found(ledger)
    assert replay(other, ids=[str(first)]).replayed == 1
    assert other.operate("discard", second) == "done"
    done = replay(ledger)
    assert (done.replayed, done.stays) == (1, {"busy": 2})
    other.conn.commit()
    assert replay(ledger) == Chunk(0, 0, 0, 0, 0, [], None)
    assert len(line(ledger)) == 2


def test_a_replay_that_is_rolled_back_has_not_been(ledger: Ledger, other: Ledger) -> None:
    held = die(ledger)
    assert replay(other).replayed == 1
    other.conn.rollback()
    assert found(ledger) == [held.id]
    assert ledger.one("select count(*) from emq.audit") == 0


def test_replays_and_discards_at_once_take_each_letter_once(db: Database, ledger: Ledger) -> None:
    """Three run through all letters at the same time, in small chunks."""
    letters = 300
    ledger.add_many([new_id() for _ in range(letters)], "q", max_attempts=[1] * letters)
    held = ledger.claim(letters, "q")
    assert ledger.retry(*held) == ["dead"] * letters
    taken: list[int] = []
    start = threading.Barrier(3)

    def run(discards: bool) -> None:
        session, after, busy = Ledger(db.connect(options=NEVER_WAIT)), None, 1
        start.wait()
        while busy or after is not None:
            busy = 0 if after is None else busy
            if discards:
                done, held_up, after = discard(session, limit=7, after=after)
            else:
                chunk = replay(session, limit=5, after=after)
                done, held_up, after = chunk.replayed, chunk.busy, chunk.next
            taken.append(done)
            busy += held_up

    threads = [threading.Thread(target=run, args=(n == 2,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(taken) == letters
    ids = [job.id for job in held]
    audited = ledger.rows("select verb, id from emq.audit")
    assert sorted(id for _, id in audited) == sorted(ids)
    replayed = {id for verb, id in audited if verb == "replay"}
    assert sorted(line(ledger, "q")) == sorted(replayed)
    assert ledger.one("select count(*) from emq.archive where status = 'discarded'") == (
        letters - len(replayed)
    )
