"""Handlers of a real worker that use Django: in threads, and on the event loop."""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async
from django.db import connections, transaction

from emq_sql.effects.current import here
from tests.effects.in_django.room import Note, Room
from tests.worker.conftest import Bench


def test_handlers_in_threads_write_with_django(room: Room, bench: Bench) -> None:
    def saves(text: str) -> None:
        Note.objects.create(text=text)
        with transaction.atomic():
            Note.objects.create(text=f"{text} again")
        connections.close_all()

    ids = bench.enqueue(bench.task(saves), "a") + bench.enqueue("saves", "b")
    bench.burst()
    assert sorted(room.notes()) == ["a", "a again", "b", "b again"]
    assert bench.rows("select count(*) from emq.archive where id = any(%s)", ids) == [(2,)]


def test_a_handler_whose_job_was_taken_from_it_commits_nothing_and_it_is_on_record(
    room: Room, bench: Bench
) -> None:
    def zombie(job: Any) -> None:
        if job.attempts == 1:
            assert room.ledger.stall_at_once((job.id, job.fence)) == ["pending"]
        try:
            Note.objects.create(text=f"attempt {job.attempts}")
        finally:
            connections.close_all()

    (id,) = bench.enqueue(bench.task(zombie, takes_context=True))
    bench.start()
    bench.until("select count(*) = 1 from emq.archive where status = 'completed'")
    assert room.notes() == ["attempt 2"]
    bench.until("select count(*) = 1 from emq.refusal where id = %s and verb = 'guard'", id)


def test_coroutines_reach_the_guard_through_djangos_threads(room: Room, bench: Bench) -> None:
    reached: list[bool] = []

    def in_a_block(text: str) -> None:
        reached.append(here.get() is not None)
        with transaction.atomic():
            Note.objects.create(text=text)

    async def zombie(job: Any) -> None:
        if job.attempts == 1:
            stall = sync_to_async(room.ledger.stall_at_once)
            assert await stall((job.id, job.fence)) == ["pending"]
            for write in (
                sync_to_async(in_a_block)("in a block"),
                sync_to_async(in_a_block, thread_sensitive=False)("in another thread"),
                Note.objects.acreate(text="awaited"),
            ):
                try:
                    await write
                except Exception:
                    continue
                raise AssertionError("it was committed")
        else:
            await Note.objects.acreate(text="the second")
        await sync_to_async(connections.close_all)()

    bench.enqueue(bench.task(zombie, takes_context=True))
    bench.start()
    bench.until("select count(*) = 1 from emq.archive where status = 'completed'")
    assert room.notes() == ["the second"]
    assert reached == [True, True]
