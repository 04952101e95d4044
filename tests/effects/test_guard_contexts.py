"""What belongs to a run: whatever its context reaches, in real workers."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from emq_sql.errors import JobFinished, LeaseLost
from emq_sql.worker.context import Job
from tests.effects.conftest import WRITE, sqlalchemy_url
from tests.worker.conftest import PATIENCE, Bench

Say = Callable[[str, Callable[[], None]], None]


@pytest.fixture
def said() -> dict[str, str]:
    """What became of each commit, by its name."""
    return {}


@pytest.fixture
def place(bench: Bench) -> Bench:
    bench.reader.execute("create table effect (n int)")
    return bench


def commit(place: Bench, n: int) -> None:
    with place.engine.begin() as connection:
        connection.execute(WRITE, {"n": n})


def cancel(place: Bench, id: UUID) -> None:
    """An operator ends the job, and with it this run's fence; the run does not know it."""
    with psycopg.connect(place.db.dsn, autocommit=True) as operator:
        assert operator.execute("select emq.cancel(%s)", [id]).fetchone() == ("done",)


def tried(said: dict[str, str], name: str, work: Callable[[], object]) -> None:
    try:
        work()
    except LeaseLost as error:
        said[name] = type(error).__name__
    else:
        said[name] = "committed"


def test_in_a_thread_its_own_commits_are_guarded_and_those_of_threads_made_with_its_context(
    place: Bench, said: dict[str, str]
) -> None:
    def handler(job: Job) -> None:
        commit(place, 1)
        cancel(place, job.id)
        tried(said, "its own", lambda: commit(place, 2))
        context = contextvars.copy_context()
        with_context = threading.Thread(
            target=context.run, args=(tried, said, "with its context", lambda: commit(place, 3))
        )
        by_hand = threading.Thread(target=tried, args=(said, "by hand", lambda: commit(place, 4)))
        for thread in (with_context, by_hand):
            thread.start()
            thread.join(PATIENCE)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(tried, said, "in a pool", lambda: commit(place, 5)).result(PATIENCE)

    place.enqueue(place.task(handler, takes_context=True))
    place.burst()
    # The last two are what the documentation says of them: nothing tells whose such a thread is.
    assert said == {
        "its own": "LeaseLost", "with its context": "LeaseLost",
        "by hand": "committed", "in a pool": "committed",
    }  # fmt: skip
    assert place.rows("select n from effect order by n") == [(1,), (4,), (5,)]


def test_in_a_coroutine_its_tasks_and_to_thread_are_guarded(
    place: Bench, said: dict[str, str]
) -> None:
    async def handler(job: Job) -> None:
        engine = create_async_engine(sqlalchemy_url(place.db.dsn))

        async def commit_here(n: int) -> None:
            async with engine.begin() as connection:
                await connection.execute(WRITE, {"n": n})

        async def tried_here(name: str, n: int) -> None:
            try:
                await commit_here(n)
            except LeaseLost:
                said[name] = "LeaseLost"

        await commit_here(1)
        cancel(place, job.id)
        await tried_here("its own", 2)
        await asyncio.create_task(tried_here("a task", 3))
        async with asyncio.TaskGroup() as group:
            group.create_task(tried_here("a group", 4))
        await asyncio.to_thread(tried, said, "to_thread", lambda: commit(place, 5))
        await engine.dispose()

    place.enqueue(place.task(handler, takes_context=True))
    place.burst()
    assert said == dict.fromkeys(("its own", "a task", "a group", "to_thread"), "LeaseLost")
    assert place.rows("select n from effect") == [(1,)]


def test_what_outlives_its_handler_is_refused_once_the_job_is_settled(
    place: Bench, said: dict[str, str]
) -> None:
    left: list[asyncio.Task[None]] = []
    settled = threading.Event()
    over = threading.Event()

    async def goes_on() -> None:
        await asyncio.to_thread(settled.wait, PATIENCE)
        await asyncio.to_thread(tried, said, "left behind", lambda: commit(place, 2))
        over.set()

    async def handler() -> None:
        left.append(asyncio.create_task(goes_on()))
        await asyncio.to_thread(commit, place, 1)

    place.enqueue(place.task(handler))
    place.start()
    place.until("select count(*) = 1 from emq.archive")
    settled.set()
    assert over.wait(PATIENCE)
    assert said == {"left behind": JobFinished.__name__}
    assert place.rows("select n from effect") == [(1,)]


def test_one_run_is_not_mistaken_for_another_in_the_same_thread(
    place: Bench, said: dict[str, str]
) -> None:
    def handler(job: Job, lost: bool) -> None:
        if lost:
            cancel(place, job.id)
        tried(said, "lost" if lost else "held", lambda: commit(place, 1))

    task = place.task(handler, takes_context=True)
    place.enqueue(task, True)
    place.enqueue(task, False)
    place.burst(concurrency=1)
    assert said == {"lost": "LeaseLost", "held": "committed"}


def test_a_task_can_go_without_a_guard(place: Bench, said: dict[str, str]) -> None:
    def handler(job: Job) -> None:
        cancel(place, job.id)
        tried(said, "unguarded", lambda: commit(place, 1))

    place.enqueue(place.task(handler, takes_context=True, guard=False))
    place.burst()
    assert said == {"unguarded": "committed"}


def test_a_refused_commit_is_on_record_once(place: Bench, said: dict[str, str]) -> None:
    def handler(job: Job) -> None:
        cancel(place, job.id)
        tried(said, "its own", lambda: commit(place, 1))

    (job,) = place.enqueue(place.task(handler, takes_context=True))
    place.start()
    place.until("select count(*) > 0 from emq.refusal where id = %s and verb = 'guard'", job)
    place.close()
    place.running.clear()
    assert place.rows("select count(*) from emq.refusal where verb = 'guard'") == [(1,)]


def test_the_last_word_of_a_run_is_its_own(place: Bench) -> None:
    """A handler that lets the refusal out has not failed: somebody else has the job."""

    def handler(job: Job) -> None:
        cancel(place, job.id)
        commit(place, 1)

    (job,) = place.enqueue(place.task(handler, takes_context=True))
    place.burst()
    assert place.rows("select status from emq.archive where id = %s", job) == [("cancelled",)]
    assert place.rows("select count(*) from emq.dead") == [(0,)]
    with place.engine.connect() as clean:
        assert clean.scalar(text("select count(*) from effect")) == 0
