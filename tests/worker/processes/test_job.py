"""A job may do in a child what it may do in its worker's process, with the same outcome."""

from __future__ import annotations

import json
import signal

import pytest

from emq_sql.rules.payload import PAYLOAD_LIMIT, RESULT_LIMIT
from tests.worker.processes.conftest import Family

UNICODE = 'gr\N{LATIN SMALL LETTER U WITH DIAERESIS}\N{SNOWMAN}\N{GRINNING FACE}"\\\n\x7f'


def test_arguments_headers_and_results_travel_as_they_are(household: Family) -> None:
    given = {"text": UNICODE, "number": -(10**30), "f": 0.1, "deep": [[{"a": None, "b": [True]}]]}
    (job,) = household.enqueue("tells", _headers=json.dumps({"trace": UNICODE}), **given)
    expected = {"given": given, "headers": {"trace": UNICODE}, "key": str(job)}
    assert household.result(job) == expected


def test_payloads_and_results_up_to_the_limits_pass_and_longer_results_say_so(
    household: Family,
) -> None:
    text = "\N{SNOWMAN}" * ((PAYLOAD_LIMIT - 100) // 3)
    (size,) = household.enqueue("size", text=text)
    (long,) = household.enqueue("at_the_limit")
    (too_long,) = household.enqueue("too_much")
    assert household.result(size) == len(text)
    stored = json.dumps(household.result(long), ensure_ascii=False).encode()
    assert RESULT_LIMIT * 0.9 < len(stored) <= RESULT_LIMIT
    assert "emq_unstorable" in household.result(too_long)


def test_errors_come_with_their_traceback_and_without_our_frames(household: Family) -> None:
    (raises,) = household.enqueue("raises", text=UNICODE, _max_attempts=1)
    (misfit,) = household.enqueue("raises", wrong="argument", _max_attempts=1)
    error = household.died(raises)[3]
    assert "in raises" in error
    assert "ValueError: gr" in error
    assert "emq_sql/worker" not in error
    assert "do not fit the task 'raises'" in household.died(misfit)[3]


def test_the_lease_is_extended_and_known(household: Family) -> None:
    (job,) = household.enqueue("extends")
    assert household.result(job) == [True, False, None, False]


def test_a_snooze_costs_no_budget_and_what_comes_after_it_is_ignored(household: Family) -> None:
    (job,) = household.enqueue("snoozes")
    assert household.completed(job) == [(2, 0, 0)]
    assert household.effects(job) == ["JobFinished"]
    assert [how for how, _ in household.attempts(job)] == ["snoozed"]


@pytest.mark.parametrize("task", ["own", "own_session"])
def test_effect_and_completion_in_one_transaction(household: Family, task: str) -> None:
    jobs = household.enqueue(task, 3)
    assert set(household.completed(*jobs)) == {(1, 0, 0)}
    for job in jobs:
        assert len(household.effects(job)) == 1
        assert household.refused(job) == 0


@pytest.mark.parametrize(
    ("then", "counts"),
    [
        ("waits", (1, 0, 0)),  # the transaction stays open for several leases
        ("goes on", (1, 0, 0)),  # it is committed, and the handler runs on
        ("dies before", (2, 1, 0)),  # killed between completion and commit
        ("dies after", (1, 0, 0)),  # killed after the commit
        ("raises", (1, 0, 0)),
    ],
)
def test_a_completion_in_the_handlers_own_transaction_counts_once_it_is_committed(
    household: Family, then: str, counts: tuple[int, int, int]
) -> None:
    (job,) = household.enqueue("completes", then=then, seconds=1.5)
    assert household.completed(job) == [counts]
    jobs = household.enqueue("echo", 6, text="the slots are free")
    household.completed(*jobs)
    assert household.effects(job) == ["effect"]
    assert household.result(job) == {"by": then}
    assert household.refused(job) == 0


def test_a_completion_that_is_rolled_back_leaves_the_lease_as_it_was(household: Family) -> None:
    (job,) = household.enqueue("completes", then="rolls back", seconds=1.5, _max_attempts=1)
    reason, stalled, failures, error = household.died(job)
    assert (reason, stalled, failures) == ("exception", 0, 1)
    assert "was not committed" in error
    assert household.effects(job) == []
    assert household.refused(job) == 0


def test_after_its_completion_a_job_is_finished(household: Family) -> None:
    (job,) = household.enqueue("completes", then="extends")
    household.until("select count(*) = 2 from effect where job = %s", job)
    assert sorted(household.effects(job)) == ["JobFinished", "effect"]
    assert household.refused(job) == 0


def test_a_stale_run_can_commit_nothing(family: Family) -> None:
    worker = family.start(lease=0.5)
    (job,) = family.enqueue("hold_then_own")
    family.until_begun(job)
    (child,) = worker.children()
    for process in (worker.process, child):  # frozen, so that the lease runs out
        process.send_signal(signal.SIGSTOP)
    family.until("select emq.reap(500) is not null and count(*) = 1 from emq.pending")
    family.let_go()
    family.start()
    assert family.completed(job) == [(2, 1, 0)]
    for process in (child, worker.process):
        process.send_signal(signal.SIGCONT)
    family.until("select count(*) = 1 from effect where what = 'LeaseLost'")
    assert sorted(family.effects(job)) == ["", "LeaseLost"]  # the effect of one run
    # The child has told its worker, which has put it on record, once.
    family.until("select count(*) = 1 from emq.refusal where verb = 'complete'")
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0
    on_record = "select attempts, overlap > interval '0' from emq.refusal where verb = 'complete'"
    assert family.rows(on_record) == [(1, True)]


def test_coroutines_share_a_loop_that_lives_on_between_jobs(family: Family) -> None:
    family.start()
    results = [family.result(job) for job in family.enqueue("on_the_loop", 2)]
    assert "first" in results
    (job,) = family.enqueue("on_the_loop")
    assert family.result(job) == "again, beating"
