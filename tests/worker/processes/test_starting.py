"""Nothing is claimed for a slot without a child that is ready; children that fail cost no job."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from emq_sql.errors import ChildrenFailed
from tests.worker.processes.conftest import Family
from tests.worker.processes.runner import CHILD

BROKEN = "RuntimeError: this application is broken on purpose"


@pytest.fixture
def gates(tmp_path: Path) -> Path:
    """Files here keep children from their work: see `child`."""
    place = tmp_path / "gates"
    place.mkdir()
    return place


def environ(gates: Path) -> dict[str, str]:
    return {"EMQ_TEST_GATES": str(gates)}


def born(gates: Path) -> int:
    return len(list(gates.glob("born-*")))


def test_nothing_is_claimed_before_a_child_is_ready(family: Family, gates: Path) -> None:
    (gates / "wait").touch()
    jobs = family.enqueue("echo", 5, text="a")
    family.start(environ(gates), poll=0.02)
    family.wait(lambda: born(gates) == 1, "a child begins")
    family.until("select count(*) = 1 from emq.worker")  # the worker itself is at work
    assert family.waiting() == [(job, 0, 0, 0) for job in sorted(jobs)]
    (gates / "wait").unlink()
    assert set(family.completed(*jobs)) == {(1, 0, 0)}


def test_jobs_that_were_claimed_ahead_are_run_by_children_too(family: Family) -> None:
    jobs = family.enqueue("pid", 40)
    family.start(processes=2, prefetch=20)
    assert set(family.completed(*jobs)) == {(1, 0, 0)}
    assert family.one("select count(*) from emq.worker where slots = 2") == 1


def test_children_that_cannot_start_end_the_worker_and_burn_nothing(
    family: Family, gates: Path
) -> None:
    (gates / "broken").touch()
    jobs = family.enqueue("echo", 3, text="a")
    worker = family.start(environ(gates), processes=2)
    assert worker.wait(60) == 1
    said = worker.said()
    assert said.count(BROKEN) == 1
    assert ChildrenFailed.code in said
    assert born(gates) > 2  # it was tried again
    assert family.waiting() == [(job, 0, 0, 0) for job in sorted(jobs)]
    assert family.one("select count(*) from emq.worker") == 0


def test_a_command_that_starts_no_child_ends_the_worker_with_the_reason(family: Family) -> None:
    (job,) = family.enqueue("echo", text="a")
    reasons = {
        "No such file or directory": ["/no/such/program"],
        "ended with exit code 7": ["/bin/sh", "-c", "exit 7"],
        "was ended by SIGKILL": ["/bin/sh", "-c", "kill -9 $$"],
    }
    workers = {reason: family.start(child=child) for reason, child in reasons.items()}
    for reason, worker in workers.items():
        assert worker.wait(60) == 1
        assert reason in worker.said()
    assert family.waiting() == [(job, 0, 0, 0)]


def test_a_child_that_cannot_be_replaced_for_a_while_is_replaced_later(
    family: Family, gates: Path
) -> None:
    worker = family.start(environ(gates), processes=2)
    (holding,) = family.enqueue("hold")
    family.until_begun(holding)
    family.until_children(worker, 2)
    (gates / "broken").touch()
    (dying,) = family.enqueue("dies_by", how="exit")
    family.wait(lambda: born(gates) >= 5, "new children begin")
    (gates / "broken").unlink()  # the other one lived on, and the worker with it
    assert family.completed(dying) == [(2, 1, 0)]
    assert worker.said().count(BROKEN) == 1
    family.let_go()
    assert family.completed(holding) == [(1, 0, 0)]


def test_when_no_child_can_be_replaced_the_jobs_are_given_back(family: Family, gates: Path) -> None:
    worker = family.start(environ(gates), processes=1)
    (job,) = family.enqueue("deaf")
    family.until_begun(job)
    (gates / "broken").touch()
    (child,) = worker.children()
    child.send_signal(signal.SIGKILL)
    assert worker.wait(60) == 1
    assert family.waiting() == [(job, 1, 1, 0)]  # for the death itself, and nothing after it


def test_a_child_is_replaced_after_so_many_jobs_at_no_cost(family: Family) -> None:
    jobs = family.enqueue("pid", 7)
    family.start(processes=1, max_jobs_per_child=3)
    assert set(family.completed(*jobs)) == {(1, 0, 0)}
    ran = family.rows("select result, count(*) from emq.archive group by 1 order by 2")
    assert [n for _, n in ran] == [1, 3, 3]


def test_what_the_application_says_while_it_starts_is_not_lost(family: Family) -> None:
    (program := family.logs / "warns.py").write_text(
        "import sys\n"
        "sys.path.insert(0, '.')\n"
        "from emq_sql.service import run_child\n"
        "from tests.worker.processes.child import load\n"
        "def loads():\n"
        "    print('said in load', file=sys.stderr)\n"
        "    return load()\n"
        "print('said at import', file=sys.stderr)\n"
        "run_child(loads)\n"
    )
    (job,) = family.enqueue("echo", text="a")
    worker = family.start(child=[CHILD[0], str(program)])
    family.completed(job)
    assert worker.said().count("said at import") == 1
    assert worker.said().count("said in load") == 1
