"""Outside of `atomic` each statement of a run is a guarded transaction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import DataError, IntegrityError, InternalError, OperationalError, transaction
from django.db.models import F
from django.db.models.expressions import RawSQL
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from emq_sql.errors import CannotGuard, JobFinished, LeaseLost
from tests.effects.in_django.room import Note, Room
from tests.plugins.databases import Database


def run(connection: Any, statement: Any, params: Any = None) -> Any:
    """The rows that it answers, if any."""
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return cursor.fetchall() if cursor.description else None


def test_a_bare_save_of_a_worker_that_lost_its_job_commits_nothing(
    room: Room, connection: Any
) -> None:
    held = room.lost()
    with pytest.raises(LeaseLost):
        room.run(held, lambda: Note(text="a zombie's").save())
    assert room.notes() == []
    assert room.refused == [(held.id, "guard")]
    assert connection.connection.autocommit
    Note(text="of the next one on this connection").save()
    assert room.notes() == ["of the next one on this connection"]


def test_a_holder_saves_updates_and_deletes(room: Room) -> None:
    def work() -> None:
        note = Note.objects.create(text="one")
        assert note.pk == 1
        note.text = "changed"
        note.save(update_fields=["text"])
        Note.objects.bulk_create([Note(text="two"), Note(text="three")])
        assert Note.objects.filter(text="two").update(text=F("text")) == 1
        assert Note.objects.get(text="three").delete() == (1, {"notes.Note": 1})
        assert Note.objects.get_or_create(text="two")[1] is False

    room.run(room.held(), work)
    assert room.notes() == ["changed", "two"]


def test_what_was_written_for_a_lost_job_in_any_way_is_not_committed(
    room: Room, connection: Any
) -> None:
    Note.objects.create(text="there")
    insert = "insert into note (text) values (%s)"

    def many() -> None:
        with connection.cursor() as cursor:
            cursor.executemany(insert, [["a"], ["b"]])

    def procedure() -> None:
        with connection.cursor() as cursor:
            cursor.callproc("writes", ["by a function"])

    room.ledger.run(
        "create function writes(t text) returns bigint language sql as"
        " 'insert into note (text) values (t) returning id'"
    )
    ways = {
        "raw": lambda: run(connection, insert, ["raw"]),
        "many": many,
        "procedure": procedure,
        "composed": lambda: run(connection, sql.SQL(insert), ["composed"]),
        "a select that writes": lambda: run(connection, "select writes('x')"),
        "with": lambda: run(
            connection, "with w as (insert into note (text) values ('w') returning id) table w"
        ),
        "update": lambda: Note.objects.update(text="changed"),
        "delete": lambda: Note.objects.filter(text="there").delete(),
        "two statements": lambda: run(connection, "select 1; insert into note (text) values ('2')"),
        "ddl": lambda: run(connection, "drop table note"),
    }
    for way in ways.values():
        with pytest.raises(LeaseLost):
            room.run(room.lost(), way)
    assert room.notes() == ["there"]
    assert len(room.refused) == len(ways)


def test_the_same_by_a_holder_is_committed_and_its_rows_can_be_fetched(
    room: Room, connection: Any
) -> None:
    room.ledger.run(
        "create function writes(t text) returns bigint language sql as"
        " 'insert into note (text) values (t) returning id'"
    )

    def work() -> None:
        insert = "insert into note (text) values (%s)"
        assert run(connection, f"{insert} returning id, text", ["a"]) == [(1, "a")]
        assert run(connection, "select writes(%s)", ["b"]) == [(2,)]
        with connection.cursor() as cursor:
            cursor.executemany(insert, [["c"], ["d"]])
            assert cursor.rowcount == 2
            cursor.callproc("writes", ["e"])
            assert cursor.fetchone() == (5,)
            cursor.execute("select 1; select 2")
            assert cursor.fetchall() == [(1,)]
            assert cursor.nextset()
            assert cursor.fetchall() == [(2,)]

    room.run(room.held(), work)
    assert room.notes() == ["a", "b", "c", "d", "e"]


def test_reads_of_a_worker_that_lost_its_job_work_and_cost_no_round_trip(
    room: Room, connection: Any, tmp_path: Path
) -> None:
    Note.objects.bulk_create([Note(text=str(n)) for n in range(5)])
    trace = tmp_path / "trace"

    def read() -> None:
        assert Note.objects.count() == 5  # from here on the database is recognised
        with trace.open("wb") as file:
            connection.connection.pgconn.trace(file.fileno())
            assert [note.text for note in Note.objects.order_by("id")] == list("01234")
            assert run(connection, "-- said\n /* twice */ (select %s)", ["x"]) == [("x",)]
            assert run(connection, "select text from note where text like '%3'") == [("3",)]
            assert run(connection, "show server_encoding") == [("UTF8",)]
            connection.connection.pgconn.untrace()

    room.run(room.lost(), read)
    sent = [line for line in trace.read_text().splitlines() if "\tF\t" in line]
    assert len(sent) == 4, sent
    assert room.refused == []


def test_a_server_side_cursor_reads_on_after_its_transaction(room: Room) -> None:
    Note.objects.bulk_create([Note(text=str(n)) for n in range(50)])

    def read() -> list[str]:
        return [note.text for note in Note.objects.order_by("id").iterator(chunk_size=7)]

    assert room.run(room.held(), read) == [str(n) for n in range(50)]

    def read_in_a_block() -> list[str]:
        with transaction.atomic():
            return read()

    assert room.run(room.held(), read_in_a_block) == [str(n) for n in range(50)]
    lost = room.lost()
    assert room.run(lost, read_in_a_block) == [str(n) for n in range(50)]
    if room.can_hold_to_reading:
        assert room.run(lost, read) == [str(n) for n in range(50)]
        assert room.refused == []
    else:
        with pytest.raises(LeaseLost):
            room.run(lost, read)
        assert room.refused == [(lost.id, "guard")]


def test_after_its_own_settlement_a_run_reads_through_a_server_side_cursor_and_writes_nothing(
    room: Room,
) -> None:
    room.ledger.run(
        "create function writes(t text) returns text language sql as"
        " 'insert into note (text) values (t) returning text'"
    )
    Note.objects.create(text="there")
    held = room.held()
    assert room.ledger.complete(held) == ["done"]
    if room.can_hold_to_reading:
        assert room.run(held, lambda: [note.text for note in Note.objects.iterator()]) == ["there"]
    with pytest.raises(JobFinished):
        room.run(
            held, lambda: list(Note.objects.annotate(written=RawSQL("writes('w')", [])).iterator())
        )
    assert room.notes() == ["there"]


def test_an_error_of_a_statement_is_djangos_and_leaves_the_connection_clean(
    room: Room, connection: Any
) -> None:
    def work() -> None:
        Note.objects.create(text="there")
        with pytest.raises(IntegrityError):
            Note.objects.create(text="there")
        with pytest.raises(DataError):
            run(connection, "select 1 / 0")
        Note.objects.create(text="another")

    room.run(room.held(), work)
    assert room.notes() == ["there", "another"]
    assert connection.get_autocommit()


def test_after_a_connection_that_broke_in_a_statement_there_is_a_new_one(
    room: Room, connection: Any
) -> None:
    def work() -> None:
        Note.objects.create(text="before")
        with pytest.raises(OperationalError):
            run(connection, "do $$ begin perform pg_terminate_backend(pg_backend_pid()); end $$")
        Note.objects.create(text="after")

    room.run(room.held(), work)
    assert room.notes() == ["before", "after"]


def test_a_deferred_constraint_that_fails_at_the_commit_is_djangos_error(
    room: Room, connection: Any
) -> None:
    room.ledger.run(
        "alter table note drop constraint note_pkey,"
        " add constraint later unique (id) deferrable initially deferred"
    )
    Note.objects.create(text="one")
    with pytest.raises(IntegrityError):
        room.run(room.held(), lambda: run(connection, "insert into note values (1, 'again')"))
    assert room.notes() == ["one"]
    Note.objects.create(text="clean")


def test_what_cannot_be_guarded_is_refused_by_name(room: Room, connection: Any) -> None:
    def stream() -> None:
        with connection.cursor() as cursor, cursor.copy("copy note (text) from stdin") as copy:
            copy.write_row(["copied"])

    ways = [
        lambda: run(connection, "vacuum note"),
        lambda: run(connection, "create index concurrently note_text on note (text)"),
        stream,
        *[
            lambda text=text: run(connection, text)
            for text in ("begin", "COMMIT", " /* a */ end", "start transaction", "rollback",
                         "prepare transaction 'x'")
        ],
    ]  # fmt: skip
    for way in ways:
        with pytest.raises(CannotGuard) as refused:
            room.run(room.held(), way)
        assert "atomic" in str(refused.value) or "guard=False" in str(refused.value)
        assert connection.connection.info.transaction_status.name == "IDLE"
    room.run(room.held(), lambda: run(connection, "vacuum note"), guard=False)
    assert room.notes() == []


def test_a_copy_inside_a_block_is_guarded_at_its_commit(room: Room, connection: Any) -> None:
    def stream() -> None:
        copying = "copy note (text) from stdin"
        with (
            transaction.atomic(), connection.cursor() as cursor, cursor.copy(copying) as copy,
        ):  # fmt: skip
            copy.write_row(["copied"])

    with pytest.raises(LeaseLost):
        room.run(room.lost(), stream)
    assert room.notes() == []
    room.run(room.held(), stream)
    assert room.notes() == ["copied"]


def test_a_commit_in_words_inside_a_block_is_refused(room: Room, connection: Any) -> None:
    def by_words() -> None:
        with transaction.atomic():
            Note.objects.create(text="by words")
            run(connection, "commit")

    with pytest.raises(CannotGuard):
        room.run(room.lost(), by_words)
    assert room.notes() == []


def test_settings_of_the_session_stay(room: Room, connection: Any) -> None:
    def work() -> None:
        run(connection, "set application_name = 'mine'")
        run(connection, "select set_config('work_mem', '5MB', false)")

    room.run(room.lost(), work)
    assert run(connection, "show application_name") == [("mine",)]
    assert run(connection, "show work_mem") == [("5MB",)]


def test_a_read_only_database_says_what_it_says(room: Room, connection: Any) -> None:
    def work() -> None:
        run(connection, "set default_transaction_read_only = on")
        Note.objects.create(text="not here")

    with pytest.raises(InternalError, match="read-only"):
        room.run(room.held(), work)
    run(connection, "set default_transaction_read_only = off")


@pytest.mark.parametrize("binding", [True, False])
def test_parameters_bound_by_the_server_make_no_difference(
    room: Room, db: Database, binding: bool
) -> None:
    connection = room.aim(db.dsn, OPTIONS={"server_side_binding": binding})

    def work() -> None:
        assert Note.objects.create(text="bound").pk == 1
        assert [note.text for note in Note.objects.filter(text="bound")] == ["bound"]
        assert [note.text for note in Note.objects.filter(text="bound").iterator()] == ["bound"]
        run(connection, "select %s::text", ["x"])

    room.run(room.held(), work)
    with pytest.raises(LeaseLost):
        room.run(room.lost(), lambda: Note.objects.create(text="lost"))
    assert room.notes() == ["bound"]
    assert conninfo_to_dict(db.dsn)["dbname"] == db.name
