"""What any worker must do, whatever it is written in, as a real process.

It is judged by the ledger alone: the tests look at nothing inside it. `shop` starts the bash worker
of the reference, or yours; `each` the Python worker too, of which tests/faults says the rest.
`simple` and `any_worker` start the one of a dozen lines as well.
"""

from __future__ import annotations

import signal
from pathlib import Path

import psutil
import pytest

from emq_sql.protocol import steps
from tests.conformance.workers import Shop
from tests.plugins.databases import Database
from tests.plugins.proxy import proxied
from tests.protocol.calls import Ledger

pytestmark = pytest.mark.faults


def test_a_job_is_claimed_run_with_its_payload_and_completed(any_worker: Shop) -> None:
    id = any_worker.enqueue("note", {"order_id": 42})
    any_worker.start()
    any_worker.until_at(id, "completed")
    assert any_worker.noted(id) == {"order_id": 42}
    assert any_worker.ledger.rows("select attempts, stalled, failures from emq.archive") == [
        (1, 0, 0)
    ]


PAYLOADS = [
    {"a": "it's \"quoted\" and `run`, $(touch {pwned}) ${HOME} $'x' ; touch {pwned}"},
    {"a": "line\nline\r\n\ttab\\n \\! touch {pwned} :'id' :id {{}} %s %%"},
    {"a": "žluťoučký 🦊 \u202e \u2028 \x01\x1f", "ключ": [None, True, 2**64, -0.5, {"": []}]},
    {"a": "'); drop table emq.job; --", "*": ["--help", "-v", "*", "~"]},
    {"a": "x" * 200_000},
]


def test_a_payload_is_data_whatever_is_in_it(any_worker: Shop, tmp_path: Path) -> None:
    pwned = tmp_path / "pwned"
    payloads = [{k: str(v).replace("{pwned}", str(pwned)) if k == "a" else v
                 for k, v in payload.items()} for payload in PAYLOADS]  # fmt: skip
    ids = [any_worker.enqueue("note", payload) for payload in payloads]
    any_worker.start()
    for id, payload in zip(ids, payloads, strict=True):
        any_worker.until_at(id, "completed")
        assert any_worker.noted(id) == payload
    assert not pwned.exists()


def test_the_name_of_a_task_is_looked_up_and_never_run_and_an_unknown_one_burns_no_budget(
    each: Shop, tmp_path: Path
) -> None:
    pwned = tmp_path / "pwned"
    each.program("../outside", f"touch '{pwned}'")
    names = [
        "missing",
        "../outside",
        f"$(touch {pwned})",
        f"note; touch {pwned}",
        "no\nte",
        "-rf",
        ".",
    ]
    ids = [each.enqueue(name) for name in names]
    each.start()
    for id in ids:
        each.until_at(id, "scheduled")
    assert each.ledger.rows("select attempts, stalled, failures from emq.scheduled") == [
        (1, 0, 0)
    ] * len(names)
    assert not pwned.exists()


def test_a_failure_is_retried_and_dies_at_the_budget_with_its_error(any_worker: Shop) -> None:
    id = any_worker.enqueue("fail", max_attempts=2)
    any_worker.start()
    any_worker.until_at(id, "dead")
    assert any_worker.ledger.row("select attempts, failures from emq.dead") == (2, 2)
    assert "it says: boom" in any_worker.ledger.one("select error from emq.dead")
    assert any_worker.ledger.column("select how from emq.attempt") == ["failed", "failed"]


def test_a_job_that_outlasts_its_lease_is_extended_and_runs_once(simple: Shop) -> None:
    simple.lease(2)
    id = simple.enqueue("hold")
    simple.start()
    simple.until_held()
    simple.ledger.wait(
        "clock_timestamp() > (select claimed_at + interval '2 s' from emq.active where id = %s)", id
    )
    assert simple.ledger.reap() == (0, 0, 0)
    assert simple.ledger.one("select extensions > 0 and attempts = 1 from emq.active")
    simple.let_go()
    simple.until_at(id, "completed")


def test_a_worker_that_was_frozen_past_its_lease_can_settle_nothing(shop: Shop) -> None:
    shop.lease(2)
    id = shop.enqueue("hold")
    frozen = shop.start()
    shop.until_held()
    frozen.send(signal.SIGSTOP)
    shop.ledger.wait("(select lease_deadline < clock_timestamp() from emq.active)")
    shop.until(lambda: shop.ledger.reap() == (1, 0, 0))
    ours = shop.ledger.take("q", nonce=4711, lease="1 h")
    assert (ours.id, ours.attempts, ours.stalled) == (id, 2, 1)
    shop.let_go()
    frozen.send(signal.SIGCONT)
    shop.ledger.wait("exists (select from emq.refusal where fence >> 40 = 1)")
    assert shop.ledger.place(id) == "active"
    assert shop.ledger.complete(ours) == ["done"]
    assert shop.ledger.rows("select fence, attempts from emq.archive") == [(ours.fence, 2)]


def test_the_job_of_a_worker_that_was_killed_comes_back_and_is_finished_by_another(
    simple: Shop,
) -> None:
    simple.lease(2)
    id = simple.enqueue("hold")
    first = simple.start()
    simple.until_held()
    first.process.kill()
    first.ended()
    simple.start()
    simple.until_held(2)
    simple.let_go()
    simple.until_at(id, "completed")
    assert simple.ledger.rows("select attempts, stalled, failures from emq.archive") == [(2, 1, 0)]


def test_sigterm_lets_a_run_end_and_takes_no_other_job(shop: Shop) -> None:
    shop.lease(2)
    id, waiting = shop.enqueue("hold"), shop.enqueue("note")
    worker = shop.start()
    shop.until_held()
    worker.send(signal.SIGTERM)
    so_far = shop.ledger.one("select extensions from emq.active")
    shop.ledger.wait("(select extensions > %s from emq.active)", so_far)
    shop.let_go()
    assert worker.ended() == 0
    assert (shop.ledger.place(id), shop.ledger.place(waiting)) == ("completed", "pending")


@pytest.mark.parametrize("way", ["the grace is over", "a second signal"])
def test_sigterm_gives_back_what_does_not_end_and_costs_it_nothing(shop: Shop, way: str) -> None:
    id, fresh = shop.enqueue("hold"), shop.enqueue("note")
    worker = shop.start(EMQ_GRACE="0" if way == "the grace is over" else "3600")
    run = shop.until_held()
    worker.send(signal.SIGTERM)
    if way == "a second signal":
        shop.until(worker.urged)
    assert worker.ended() == 0
    assert not psutil.pid_exists(run)
    released = shop.ledger.take("q")
    assert (released.id, released.attempts) == (id, 2)
    assert (released.stalled, released.failures) == (0, 0)
    assert shop.ledger.place(fresh) == "pending"


def test_a_job_that_was_called_off_stays_so_and_the_worker_goes_on(shop: Shop) -> None:
    shop.lease(2)
    id = shop.enqueue("hold")
    shop.start()
    shop.until_held()
    assert shop.ledger.operate("cancel", id) == "done"
    shop.ledger.wait("exists (select from emq.refusal where id = %s)", id)
    shop.let_go()
    shop.until_at(shop.enqueue("note"), "completed")
    assert shop.ledger.place(id) == "cancelled"


@pytest.mark.parametrize("verb", ["claim", "complete", "fail"])
def test_an_answer_that_was_lost_costs_nothing_and_is_not_asked_for_blindly(
    shop: Shop, verb: str, ledger: Ledger
) -> None:
    with proxied(shop.dsn) as proxy:
        shop.dsn = proxy.dsn
        id = shop.enqueue("fail" if verb == "fail" else "note", max_attempts=1)
        either = [b"emq.retry("] if verb == "fail" else []  # a failure may be told by either
        proxy.lose_reply_to(f"emq.{verb}".encode(), *either)
        shop.start()
        assert proxy.lost.wait(20)
        shop.until_at(id, "dead" if verb == "fail" else "completed")
        shop.until_at(shop.enqueue("note"), "completed")
    attempts = "select attempts from emq.archive union all select attempts from emq.dead"
    assert ledger.rows(attempts) == [(1,), (1,)]
    assert ledger.rows("select * from emq.refusal") == []


def test_a_completion_that_never_arrived_is_sent_again(shop: Shop, ledger: Ledger) -> None:
    with proxied(shop.dsn) as proxy:
        shop.dsn = proxy.dsn
        id = shop.enqueue("note")
        proxy.silence(b"emq.complete")
        shop.start()
        assert proxy.lost.wait(20)
        shop.until_at(id, "completed")
    assert ledger.one("select attempts from emq.archive") == 1


ASKING = "select from pg_stat_activity where query like %s and datname = current_database()"


def test_a_row_that_is_busy_is_asked_for_again(shop: Shop, third: Ledger) -> None:
    id = shop.enqueue("hold")
    shop.start()
    shop.until_held()
    with third.conn.transaction():
        third.rows("select emq.guard(id, fence) from emq.active")
        shop.let_go()
        shop.until(lambda: bool(shop.ledger.rows(ASKING, "%.complete%")))
        shop.ledger.wait(f"not exists ({ASKING} and state = 'active')", "%.complete%")
        assert shop.ledger.place(id) == "active"
    shop.until_at(id, "completed")
    assert shop.ledger.one("select attempts from emq.archive") == 1


@pytest.mark.parametrize("change", ["version = version + 1", "environment = 'production'"])
def test_a_database_that_it_was_not_made_for_runs_nothing(each: Shop, change: str) -> None:
    id = each.enqueue("note")
    each.ledger.run(f"update emq.meta set {change}")
    assert each.start().ended() != 0
    assert each.ledger.place(id) == "pending"


def test_the_role_of_workers_is_all_it_needs_under_any_isolation(shop: Shop, db: Database) -> None:
    conn = db.connect()
    conn.execute(steps.roles_script(prefix=db.name).encode())
    isolation = "default_transaction_isolation = 'repeatable read'"
    conn.execute(f"alter database {db.name} set {isolation}".encode())
    shop.dsn = f"{shop.dsn}&options=-c%20role%3D{db.name}_worker"
    try:
        done, failed = shop.enqueue("note"), shop.enqueue("fail", max_attempts=1)
        worker = shop.start()
        shop.until_at(done, "completed")
        shop.until_at(failed, "dead")
        worker.send(signal.SIGTERM)
        assert worker.ended() == 0
    finally:
        for role in ("producer", "worker", "operator", "reader"):
            conn.execute(f"drop owned by {db.name}_{role}; drop role {db.name}_{role}".encode())
