"""A commit of Django's in a run commits nothing for a job that is lost."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, OperationalError, transaction
from django.db.transaction import TransactionManagementError

from emq_sql.effects.current import unguarded
from emq_sql.errors import JobFinished, LeaseLost
from tests.effects.in_django.room import Note, Room


def write(text: str) -> None:
    with transaction.atomic():
        Note.objects.create(text=text)


def test_a_holder_commits_its_atomic_block(room: Room) -> None:
    room.run(room.held(), lambda: write("mine"))
    assert room.notes() == ["mine"]
    assert room.refused == []


def test_a_worker_that_lost_its_job_commits_no_atomic_block(room: Room, connection: Any) -> None:
    held = room.lost()
    with pytest.raises(LeaseLost, match="lease"):
        room.run(held, lambda: write("a zombie's"))
    assert room.notes() == []
    assert room.refused == [(held.id, "guard")]
    assert connection.get_autocommit()
    assert not connection.in_atomic_block
    write("of the next one on this connection")
    assert room.notes() == ["of the next one on this connection"]


def test_after_the_job_is_settled_nothing_more_is_committed_for_it(room: Room) -> None:
    held = room.held()
    assert room.ledger.complete(held) == ["done"]
    with pytest.raises(JobFinished):
        room.run(held, lambda: write("too late"))
    assert room.notes() == []


def test_a_transaction_that_completes_the_job_itself_commits(room: Room, connection: Any) -> None:
    held = room.held()

    def effects_and_completion() -> None:
        with transaction.atomic():
            Note.objects.create(text="once")
            with connection.cursor() as cursor:
                query = "select emq.complete(array[%s]::uuid[], array[%s]::bigint[])"
                cursor.execute(query, [held.id, held.fence])
                assert cursor.fetchone() == (["done"],)

    room.run(held, effects_and_completion)
    assert room.notes() == ["once"]
    with pytest.raises(JobFinished):
        room.run(held, lambda: write("later"))
    assert room.notes() == ["once"]


# Other tests use the same server.
HERE = """locktype = 'advisory' and
  database = (select oid from pg_database where datname = current_database())"""


def test_the_ownership_cannot_change_between_the_guard_and_the_commit(
    room: Room, connection: Any
) -> None:
    held = room.held()
    room.ledger.run("""
      create function asks() returns trigger language plpgsql as $$
      begin perform pg_advisory_xact_lock(1); return null; end $$;
      create constraint trigger at_commit after insert on note initially deferred
        for each row execute function asks();
      select pg_advisory_lock(1)""")
    answers: list[str] = []

    def while_it_commits() -> None:
        room.ledger.wait(f"exists (select from pg_locks where {HERE} and not granted)")
        answers.extend(room.ledger.stall_at_once(held))
        room.ledger.run("select pg_advisory_unlock(1)")

    other = threading.Thread(target=while_it_commits)
    other.start()
    room.run(held, lambda: write("mine"))
    other.join()
    assert answers == ["busy"]
    assert room.notes() == ["mine"]


def test_savepoints_are_left_alone_and_the_outermost_end_is_guarded(room: Room) -> None:
    def nested() -> None:
        with transaction.atomic():
            Note.objects.create(text="outer")
            with transaction.atomic():
                Note.objects.create(text="inner")
            with pytest.raises(IntegrityError), transaction.atomic():
                Note.objects.create(text="inner")

    with pytest.raises(LeaseLost):
        room.run(room.lost(), nested)
    assert room.notes() == []
    room.run(room.held(), nested)
    assert room.notes() == ["outer", "inner"]


def test_a_durable_block_is_guarded(room: Room) -> None:
    def durably() -> None:
        with transaction.atomic(durable=True):
            Note.objects.create(text="durable")

    with pytest.raises(LeaseLost):
        room.run(room.lost(), durably)
    assert room.notes() == []


def test_what_was_to_happen_on_commit_does_not_happen(room: Room) -> None:
    happened: list[str] = []

    def with_a_hook(text: str) -> None:
        with transaction.atomic():
            Note.objects.create(text=text)
            transaction.on_commit(lambda: happened.append(text))

    with pytest.raises(LeaseLost):
        room.run(room.lost(), lambda: with_a_hook("refused"))
    with_a_hook("the next")
    room.run(room.held(), lambda: with_a_hook("held"))
    assert happened == ["the next", "held"]


def test_what_a_hook_on_commit_writes_is_guarded_as_well(room: Room) -> None:
    held = room.held()

    def lose_it_and_write() -> None:
        room.ledger.stall_at_once(held)
        Note.objects.create(text="after the commit")

    def with_a_hook() -> None:
        with transaction.atomic():
            Note.objects.create(text="before it")
            transaction.on_commit(lose_it_and_write)

    with pytest.raises(LeaseLost):
        room.run(held, with_a_hook)
    assert room.notes() == ["before it"]


def test_manual_transactions_are_guarded_at_their_commit(room: Room, connection: Any) -> None:
    def by_hand(text: str) -> None:
        transaction.set_autocommit(False)
        try:
            Note.objects.create(text=text)
            transaction.commit()
            with transaction.atomic():
                Note.objects.create(text=f"{text} in a block")
            transaction.commit()
        finally:
            transaction.rollback()
            transaction.set_autocommit(True)

    with pytest.raises(LeaseLost):
        room.run(room.lost(), lambda: by_hand("lost"))
    assert room.notes() == []
    room.run(room.held(), lambda: by_hand("held"))
    assert room.notes() == ["held", "held in a block"]


def test_a_block_that_only_reads_takes_no_lock_on_the_job(room: Room) -> None:
    held = room.lost()

    def read() -> int:
        with transaction.atomic():
            return Note.objects.count()

    assert room.run(held, read) == 0
    assert room.refused == []


def test_a_block_in_which_nothing_was_asked_asks_nothing(
    room: Room, connection: Any, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"

    def nothing() -> None:
        with trace.open("wb") as file:
            connection.connection.pgconn.trace(file.fileno())
            with transaction.atomic():
                pass
            connection.connection.pgconn.untrace()

    connection.ensure_connection()
    room.run(room.lost(), nothing)
    assert trace.read_text() == ""


def test_a_block_that_failed_is_rolled_back_as_ever(room: Room) -> None:
    write("there")

    def twice() -> None:
        with transaction.atomic():
            Note.objects.create(text="before")
            Note.objects.create(text="there")

    with pytest.raises(IntegrityError):
        room.run(room.lost(), twice)
    assert room.notes() == ["there"]

    def swallowed() -> None:
        with transaction.atomic():
            with pytest.raises(IntegrityError):
                Note.objects.create(text="there")
            with pytest.raises(TransactionManagementError):
                Note.objects.count()

    room.run(room.lost(), swallowed)
    assert room.refused == []


def test_a_connection_that_breaks_at_the_guard_is_djangos_error_and_nothing_is_committed(
    room: Room, connection: Any
) -> None:
    def broken() -> None:
        with transaction.atomic():
            Note.objects.create(text="gone")
            pid = connection.connection.info.backend_pid
            assert room.ledger.one("select pg_terminate_backend(%s, 20000)", pid)

    with pytest.raises(OperationalError):
        room.run(room.held(), broken)
    write("on a new connection")
    assert room.notes() == ["on a new connection"]


def test_under_repeatable_read_a_job_that_was_taken_away_is_refused(
    room: Room, connection: Any
) -> None:
    held = room.held()

    def in_an_old_snapshot() -> None:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("set transaction isolation level repeatable read")
            Note.objects.create(text="in an old snapshot")
            room.ledger.stall_at_once(held)

    with pytest.raises((LeaseLost, DatabaseError)):
        room.run(held, in_an_old_snapshot)
    assert room.notes() == []
    assert connection.get_autocommit()


def test_a_task_that_opted_out_and_a_block_that_did_are_not_guarded(room: Room) -> None:
    room.run(room.lost(), lambda: write("not guarded"), guard=False)

    def log_it() -> None:
        with unguarded():
            write("in spite of it")
        write("refused")

    with pytest.raises(LeaseLost):
        room.run(room.lost(), log_it)
    assert room.notes() == ["not guarded", "in spite of it"]


def test_outside_of_runs_nothing_is_asked(room: Room) -> None:
    write("as ever")
    Note.objects.create(text="without a block")
    assert room.notes() == ["as ever", "without a block"]
