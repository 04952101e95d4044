"""enqueue_unique: one job for a key, for as long as its scope says, and never none."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import psycopg
import pytest

from emq_sql.minting import new_id
from tests.plugins.databases import Database
from tests.protocol.calls import Held, Ledger, refused
from tests.protocol.emptying import last

KEYS = "select key from emq.unique_key order by key"
_ASK = """
select ids, statuses from emq.enqueue_unique(
  %s, %s::text[], %s::uuid[], %s::text[], %s::jsonb[], %s::text[], %s::interval[]{extra})
"""


def ask(
    ledger: Ledger, *keys: str | None, ids: Sequence[UUID] = (), queue: str = "default",
    scope: str | None = None, span: str | None = None, **named: Any,
) -> list[tuple[UUID, str]]:  # fmt: skip
    """(id, enqueued | scheduled | duplicate) for each key; named parameters without `p_`."""
    n = len(keys)
    extra = "".join(f", p_{name} => %s" for name in named)
    given, statuses = ledger.row(
        _ASK.format(extra=extra), queue, list(keys), list(ids) or [new_id() for _ in keys],
        ["t"] * n, ["{}"] * n, [scope] * n, [span] * n, *named.values(),
    )  # fmt: skip
    return list(zip(given, statuses, strict=True))


def one(ledger: Ledger, key: str | None = "k", id: UUID | None = None, **named: Any) -> Any:
    return ask(ledger, key, ids=[id] if id else [], **named)[0]


def test_one_job_is_added_for_a_key_and_whoever_asks_again_is_told_of_it(ledger: Ledger) -> None:
    id, status = one(ledger)
    assert status == "enqueued"
    assert one(ledger) == (id, "duplicate")
    assert one(ledger, queue="other", priorities=[0], delays=["1 h"]) == (id, "duplicate")
    assert one(ledger, "other")[1] == one(ledger, None)[1] == one(ledger, None)[1] == "enqueued"
    assert ledger.one("select count(*) from emq.job") == 4


def test_a_key_is_held_while_its_job_waits_runs_and_is_between_two_runs(ledger: Ledger) -> None:
    id, status = one(ledger, delays=["50 ms"])
    assert status == "scheduled"
    ledger.wait("not exists (select from emq.scheduled where run_at > clock_timestamp())")
    for move in (lambda: None, ledger.promote):
        move()
        assert one(ledger) == (id, "duplicate")
    held = ledger.take()
    assert one(ledger) == (id, "duplicate")
    for back in (ledger.release, ledger.retry):
        back(held)
        assert one(ledger) == (id, "duplicate")
        held = ledger.take()
    ledger.complete(held)
    assert one(ledger)[1] == "enqueued"


def complete(ledger: Ledger, held: Held) -> None:
    ledger.complete(held)


def die(ledger: Ledger, held: Held) -> None:
    assert ledger.fail(held, reason="permanent") == ["dead"]


def cancel(ledger: Ledger, held: Held) -> None:
    assert ledger.operate("cancel", held.id) == "done"


def discard(ledger: Ledger, held: Held) -> None:
    die(ledger, held)
    assert ledger.operate("discard", held.id) == "done"


@pytest.mark.parametrize("ends", [complete, die, cancel, discard])
@pytest.mark.parametrize("scope", ["waiting", "unfinished"])
def test_a_job_that_has_ended_holds_its_key_no_more(ledger: Ledger, scope: str, ends: Any) -> None:
    id, _ = one(ledger, scope=scope)
    ends(ledger, ledger.take())
    other, status = one(ledger, scope=scope)
    assert (status, other != id) == ("enqueued", True)
    assert one(ledger, scope=scope) == (other, "duplicate")


def test_while_waiting_means_until_a_worker_has_it_and_again_when_it_is_given_back(
    ledger: Ledger,
) -> None:
    first, _ = one(ledger, scope="waiting")
    held = ledger.take()
    second, status = one(ledger, scope="waiting")
    assert (status, second != first) == ("enqueued", True)
    ledger.complete(held, held2 := ledger.take())
    third, _ = one(ledger, scope="waiting")
    assert held2.id == second
    ledger.release(ledger.take())
    assert one(ledger, scope="waiting") == (third, "duplicate")


def test_for_a_time_after_it_is_held_whatever_became_of_the_job(ledger: Ledger) -> None:
    id, _ = one(ledger, scope="until", span="1 h")
    ledger.complete(ledger.take())
    assert one(ledger, scope="until", span="1 h") == (id, "duplicate")
    ledger.run("update emq.unique_key set until = until - interval '59 minutes 59.9 s'")
    ledger.wait("(select until < clock_timestamp() from emq.unique_key)")
    assert one(ledger, scope="until", span="1 h")[1] == "enqueued"


def test_the_scope_is_that_of_the_holder(ledger: Ledger) -> None:
    id, _ = one(ledger)
    ledger.take()
    assert one(ledger, scope="waiting") == (id, "duplicate")


def test_rolled_back_the_key_is_free_again(ledger: Ledger, other: Ledger) -> None:
    one(other)
    other.conn.rollback()
    assert one(ledger)[1] == "enqueued"
    with ledger.conn.transaction(force_rollback=True), ledger.conn.transaction():
        one(ledger, "b")
    assert one(ledger, "b")[1] == "enqueued"


@pytest.mark.parametrize("commits", [False, True])
@pytest.mark.parametrize("taken_over", [False, True])
def test_who_asks_waits_for_an_open_one_and_sees_what_became_of_it(
    db: Database, ledger: Ledger, other: Ledger, commits: bool, taken_over: bool
) -> None:
    if taken_over:
        one(ledger)
        ledger.complete(ledger.take())
    first, _ = one(other)
    asked = in_a_thread(db, ledger, "k")
    (other.conn.commit if commits else other.conn.rollback)()
    if commits:
        assert asked() == [(first, "duplicate")]
    else:
        assert asked()[0][1] == "enqueued"


def test_an_open_one_is_not_waited_for_for_ever(ledger: Ledger, other: Ledger) -> None:
    function = "emq.enqueue_unique"
    settings = ledger.one("select proconfig from pg_proc where oid = %s::regproc", function)
    assert "lock_timeout=5s" in settings
    ledger.run(f"alter function {function} set lock_timeout = '50ms'")  # five seconds are long
    one(other)
    ledger.run("set lock_timeout = 0")
    with refused("55P03"):
        one(ledger)


def in_a_thread(db: Database, ledger: Ledger, *keys: str) -> Callable[[], list[tuple[UUID, str]]]:
    """Who asks there has been made to wait; called, this gives its answers."""
    mine = Ledger(db.connect())
    answers: list[tuple[UUID, str]] = []
    asking = threading.Thread(target=lambda: answers.extend(ask(mine, *keys)))
    asking.start()
    ledger.wait(
        "exists (select from pg_stat_activity where pid = %s and wait_event_type = 'Lock')",
        mine.conn.info.backend_pid,
    )

    def end() -> list[tuple[UUID, str]]:
        asking.join()
        return answers

    return end


def test_the_keys_of_a_call_are_taken_in_their_order(
    db: Database, ledger: Ledger, other: Ledger
) -> None:
    """Or two calls that have keys in common could wait for each other."""
    one(other, "a")
    asked = in_a_thread(db, ledger, "b", "a")
    assert one(ledger, "b")[1] == "enqueued"  # who waits for the first has not taken the second
    other.conn.commit()
    assert [status for _, status in asked()] == ["duplicate", "duplicate"]


def test_of_two_who_take_a_key_over_at_once_one_gets_it(
    db: Database, ledger: Ledger, other: Ledger
) -> None:
    one(ledger)
    ledger.complete(ledger.take())
    other.run("lock table emq.dead")  # who asks has seen the key, and not yet what its holder is
    asked = in_a_thread(db, ledger, "k")
    taken, status = one(other)
    other.conn.commit()
    assert (status, asked()) == ("enqueued", [(taken, "duplicate")])


def test_producers_at_the_same_time_add_one_for_each_key(db: Database, ledger: Ledger) -> None:
    keys = [f"k{n:02}" for n in range(12)]
    answers: list[tuple[UUID, str]] = []
    start = threading.Barrier(8)

    def produce(n: int) -> None:
        mine = Ledger(db.connect())
        start.wait()
        for turn in range(5):
            order = keys if (n + turn) % 2 else keys[::-1]
            answers.extend(ask(mine, *order))

    threads = [threading.Thread(target=produce, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 8 * 5 * 12
    assert sorted(s for _, s in answers if s != "duplicate") == ["enqueued"] * 12
    assert {id for id, _ in answers} == set(ledger.column("select id from emq.pending"))


def test_the_line_is_in_the_order_given_whatever_the_order_of_the_keys(ledger: Ledger) -> None:
    answers = ask(ledger, "c", "a", None, "b")
    assert [ledger.take().id for _ in answers] == [id for id, _ in answers]


def test_each_answer_is_that_of_its_own_job(ledger: Ledger) -> None:
    held, _ = one(ledger, "c")
    ids = [new_id() for _ in range(3)]
    answers = ask(ledger, "c", "b", "a", ids=ids, delays=[None, "1 h", None])
    assert answers == [(held, "duplicate"), (ids[1], "scheduled"), (ids[2], "enqueued")]
    assert [ledger.place(id) for id in (held, *ids[1:])] == ["pending", "scheduled", "pending"]


def test_a_key_twice_in_a_call_is_a_duplicate_the_second_time(ledger: Ledger) -> None:
    (a, first), (b, _), (c, second) = ask(ledger, "k", "l", "k")
    assert (first, second, a == c, a != b) == ("enqueued", "duplicate", True, True)
    assert ledger.one("select count(*) from emq.pending") == 2


def test_a_thousand_in_a_call_are_told_of_each_key_in_order(ledger: Ledger) -> None:
    """Five keys are held already, and ten come twice."""
    held = dict(zip("vwxyz", (id for id, _ in ask(ledger, *"vwxyz")), strict=True))
    keys = [f"k{n}" for n in range(985)] + [*"zyxwv"] + [f"k{n}" for n in range(10)]
    ids = [new_id() for _ in keys]
    answers = ask(ledger, *keys, ids=ids)
    assert answers[:985] == [(id, "enqueued") for id in ids[:985]]
    assert answers[985:990] == [(held[key], "duplicate") for key in "zyxwv"]
    assert answers[990:] == [(id, "duplicate") for id in ids[:10]]
    assert ledger.one("select count(*) from emq.pending") == 990


def test_a_call_whose_reply_was_lost_adds_no_second_job_and_is_told_of_its_own(
    ledger: Ledger,
) -> None:
    """Even when its job has ended meanwhile and another has the key."""
    id, _ = one(ledger)
    assert one(ledger, id=id) == (id, "duplicate")
    ledger.complete(ledger.take())
    another, _ = one(ledger)
    assert one(ledger, id=id) == (id, "duplicate")
    assert one(ledger) == (another, "duplicate")


def test_a_repeat_whose_job_is_gone_adds_it_again_and_keeps_its_key(ledger: Ledger) -> None:
    id, _ = one(ledger, scope="until", span="1 h")
    ledger.run("delete from emq.pending")
    ledger.run("delete from emq.job")
    assert one(ledger, id=id, scope="until", span="1 h") == (id, "enqueued")


def test_a_key_that_is_locked_holds_up_nobody_but_who_asks_for_it(
    db: Database, ledger: Ledger
) -> None:
    """Claims, completions, reaps, promotions, upkeep and retention know nothing of keys."""
    ids = [id for id, _ in ask(ledger, *"abcdef")]
    ledger.run("update emq.unique_key set look_at = '-infinity'")
    locked = Ledger(psycopg.connect(db.dsn))
    locked.run("select from emq.unique_key for update")
    ledger.run("set lock_timeout = '2s'")
    held = [ledger.take() for _ in ids]
    ledger.complete(*held[:2])
    ledger.release(held[2])
    die(ledger, held[3])
    ledger.run("update emq.active set lease_deadline = clock_timestamp() where id = %s", held[4].id)
    assert ledger.one("select recovered from emq.reap(10)") == 1
    ledger.one("select emq.maintain()")
    ledger.retry(held[5], delay="1 ms")
    ledger.wait("not exists (select from emq.scheduled where run_at > clock_timestamp())")
    assert ledger.promote() == 1
    assert ledger.operate("cancel", held[5].id) == "done"
    assert ledger.one("select did from emq.tidy()") == "nothing"
    assert ledger.operate("discard", held[3].id) == "done"
    locked.conn.close()
    assert ledger.one("select did from emq.tidy()") == "deleted"


def test_keys_that_count_no_more_are_forgotten_and_those_that_do_stay(ledger: Ledger) -> None:
    for key in ("ended", "waits", "runs"):
        one(ledger, key)
        if key == "ended":
            ledger.complete(ledger.take())
    ledger.take()
    one(ledger, "later", scope="until", span="1 h")
    one(ledger, "over", scope="until", span="1 h")
    assert (
        ledger.one("select did from emq.tidy()") == "nothing"
    )  # none was looked at within an hour
    ledger.run("update emq.unique_key set look_at = look_at - interval '1 h' where key <> 'later'")
    ledger.run("update emq.unique_key set until = clock_timestamp() where key = 'over'")
    assert ledger.row("select did, what from emq.tidy()") == ("deleted", "unique keys")
    assert ledger.column(KEYS) == ["later", "runs", "waits"]
    assert ledger.one("select did from emq.tidy()") == "nothing"


def test_they_are_looked_at_in_bounded_steps_the_longest_due_first(ledger: Ledger) -> None:
    ask(ledger, *"abcde")
    ledger.complete(*(ledger.take() for _ in range(5)))
    ledger.run(
        "update emq.unique_key set look_at = clock_timestamp() - ascii(key) * interval '1 minute'"
    )
    assert ledger.one("select did from emq.tidy(2)") == "deleted"
    assert ledger.column(KEYS) == ["a", "b", "c"]


def test_a_key_that_is_released_by_hand_is_free_and_on_record(ledger: Ledger) -> None:
    id, _ = one(ledger)
    assert ledger.row("select * from emq.key_holder('k')") == (id, "unfinished", None, True)
    assert ledger.one("select emq.release_key('k', 'me')") == id
    assert ledger.rows("select * from emq.key_holder('k')") == []
    assert ledger.one("select emq.release_key('k')") is None
    said = "select verb, id, label from emq.audit"
    assert ledger.rows(said) == [("release_key", id, "me")]
    assert one(ledger)[1] == "enqueued"
    assert ledger.place(id) == "pending"


def test_what_is_erased_leaves_no_key(ledger: Ledger) -> None:
    """A key may name a person."""
    one(ledger, "about:somebody")
    one(ledger, "about:another", queue="other")
    assert last(ledger).status == "done"
    assert ledger.column(KEYS) == ["about:another"]


def test_an_erased_job_does_not_wait_for_its_key(ledger: Ledger, other: Ledger) -> None:
    """A transaction that takes the key over may stay open."""
    one(ledger)
    ledger.complete(ledger.take())
    one(other)
    ledger.run("set lock_timeout = '2s'")
    assert last(ledger).status == "done"


@pytest.mark.parametrize(
    ("key", "scope", "span"),
    [
        ("", None, None),
        ("k" * 501, None, None),
        ("k", "until", None),
        ("k", "until", "0 s"),
        ("k", "until", "-1 s"),
        ("k", "until", "2 years"),
        ("k", "waiting", "1 h"),
        ("k", None, "1 h"),
        ("k", "never", None),
    ],
)
def test_what_is_no_key_or_no_scope_is_refused(
    ledger: Ledger, key: str, scope: str | None, span: str | None
) -> None:
    with refused("EQ006"):
        one(ledger, key, scope=scope, span=span)
    assert one(ledger, "k" * 500)[1] == one(ledger, "é" * 500)[1] == "enqueued"


def test_arrays_may_begin_anywhere_and_none_of_them_at_all(ledger: Ledger) -> None:
    a, b, _ = ids = [new_id() for _ in range(3)]
    given = ledger.row(
        "select ids, statuses from emq.enqueue_unique('default', '[7:9]={a,b,a}'::text[],"
        " %s::uuid[], '[3:5]={t,u,t}'::text[], array['{}', '{}', '{}']::jsonb[],"
        " p_priorities => '[2:4]={4,0,4}'::int[])",
        "[0:2]={" + ",".join(map(str, ids)) + "}",
    )
    assert given == ([a, b, a], ["enqueued", "enqueued", "duplicate"])
    assert [(one.id, one.task) for one in ledger.claim(3)] == [(b, "u"), (a, "t")]
    assert ask(ledger) == []


def test_an_id_that_is_none_is_refused(ledger: Ledger) -> None:
    with refused("EQ002"):
        ask(ledger, "k", ids=[None])  # type: ignore[list-item]


def test_arrays_of_different_lengths_are_refused(ledger: Ledger) -> None:
    with refused("EQ006"):
        ask(ledger, "a", "b", ids=[new_id()])


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_a_snapshot_that_may_be_older_than_the_holders_end_is_refused(
    ledger: Ledger, level: str
) -> None:
    ledger.run(f"set default_transaction_isolation = '{level}'")
    with refused("25001"):
        one(ledger)
