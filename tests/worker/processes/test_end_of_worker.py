"""No child outlives its worker, and none holds what is the worker's."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.worker.processes.conftest import Family
from tests.worker.processes.runner import CHILD


def test_a_worker_that_is_killed_leaves_no_orphan(family: Family) -> None:
    # One in C code, where no thread can notice anything, one that sleeps, and one that is idle.
    jobs = [*family.enqueue("stuck"), *family.enqueue("deaf")]
    worker = family.start(processes=3)
    runs = family.until_begun(*jobs)
    pids = [child.pid for child in family.until_children(worker, 3)]
    assert set(runs) < set(pids)
    worker.process.kill()
    worker.wait()
    family.until_gone(*pids)


def test_where_the_kernel_does_not_help_the_end_of_the_channel_ends_a_child(
    family: Family,
) -> None:
    # A shell between worker and child: it is the shell that dies with the worker.
    shell = ["/bin/sh", "-c", 'python=$1; shift; "$python" "$@"; exit $?', "sh"]
    (job,) = family.enqueue("deaf")
    worker = family.start(child=[*shell, *CHILD])
    family.until_begun(job)
    pids = [process.pid for process in worker.children(recursive=True)]
    assert len(pids) == 2
    worker.process.kill()
    worker.wait()
    family.until_gone(*pids)


def test_a_child_inherits_its_channel_and_nothing_else_and_ends_with_its_worker(
    family: Family,
) -> None:
    (job,) = family.enqueue("descriptors")
    worker = family.start(processes=2)
    found = dict(family.result(job))
    assert found[0] == "/dev/null"
    assert found[1] == found[2] == str(worker.log)
    (channel,) = [target for fd, target in found.items() if fd > 2]
    assert channel.startswith("socket:")
    assert channel not in _opened_by(worker.pid)

    pids = [child.pid for child in family.until_children(worker, 2)]
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0
    family.until_gone(*pids)
    assert "does not end by itself" not in worker.said()


def _opened_by(pid: int) -> set[str]:
    found = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.add(str(entry.readlink()))
        except FileNotFoundError:
            continue
    return found
