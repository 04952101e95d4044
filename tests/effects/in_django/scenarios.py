"""Statements outside of `atomic` that hold for every driver: `(room, connection)`, on a new ledger.

Without pytest's fixtures, since psycopg2 needs a process of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.db import DataError, InternalError, OperationalError, transaction
from django.db.models.expressions import RawSQL

from emq_sql.errors import CannotGuard, LeaseBusy, LeaseLost
from tests.effects.in_django.room import Note, Room

FUNCTIONS = """
create function swallows(t text) returns text language plpgsql as $$
begin insert into note (text) values (t); return 'ok';
exception when others then return sqlerrm; end $$;
create function locks(t text) returns text language plpgsql as $$
begin perform pg_advisory_lock(42); insert into note (text) values (t); return t; end $$;
create procedure commits(t text) language plpgsql as $$
begin insert into note (text) values (t); commit; end $$
"""
INSERT = "insert into note (text) values ('{}')"


def rows(connection: Any, statement: Any, params: Any = None) -> Any:
    """What it answers, if it is rows."""
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return cursor.fetchall() if cursor.description else None


def iterated(expression: str) -> list[Any]:
    """An expression read through a server-side cursor, for each note there is."""
    found = Note.objects.annotate(x=RawSQL(expression, [])).order_by("id").iterator()
    return [note.x for note in found]


def a_function_that_swallows_errors_writes_for_a_holder(room: Room, connection: Any) -> None:
    room.ledger.run(FUNCTIONS)

    def work() -> None:
        assert rows(connection, "select swallows(%s)", ["a"]) == [("ok",)]
        assert iterated("swallows('b')") == ["ok"]

    room.run(room.held(), work)
    assert room.notes() == ["a", "b"]
    with pytest.raises(LeaseLost):
        room.run(room.lost(), lambda: rows(connection, "select swallows('c')"))
    assert room.notes() == ["a", "b"]


def a_statement_is_run_once(room: Room, connection: Any) -> None:
    room.ledger.run(FUNCTIONS)
    unlock = "select pg_advisory_unlock(42)"

    def work() -> None:
        assert rows(connection, "select locks('a')") == [("a",)]
        assert rows(connection, unlock) == [(True,)]
        assert iterated("locks('b')") == ["b"]
        assert rows(connection, unlock) == [(True,)]

    room.run(room.held(), work)
    assert room.ledger.one("select pg_try_advisory_lock(42)") is True
    assert room.notes() == ["a", "b"]


def a_text_may_not_choose_to_write_unguarded(room: Room, connection: Any) -> None:
    text = "show search_path; set transaction read write; " + INSERT.format("x")
    with pytest.raises(LeaseLost):
        room.run(room.lost(), lambda: rows(connection, text))
    assert room.notes() == []
    assert len(room.refused) == 1


def a_lost_run_commits_no_large_object(room: Room, connection: Any) -> None:
    Note.objects.create(text="there")
    write = "lo_from_bytea(0, 'a zombie''s')"
    for way in (lambda: rows(connection, f"select {write}"), lambda: iterated(write)):
        with pytest.raises(LeaseLost):
            room.run(room.lost(), way)
    assert room.ledger.one("select count(*) from pg_largeobject_metadata") == 0
    room.run(room.held(), lambda: iterated(write))
    assert room.ledger.one("select count(*) from pg_largeobject_metadata") == 1


def a_server_side_cursor_writes_for_a_holder_and_for_no_one_else(
    room: Room, connection: Any
) -> None:
    room.ledger.run(FUNCTIONS)
    Note.objects.create(text="there")
    held = room.lost()
    with pytest.raises(LeaseLost):
        room.run(held, lambda: iterated("locks('a')"))
    assert room.refused == [(held.id, "guard")]
    assert room.notes() == ["there"]
    rows(connection, "select pg_advisory_unlock_all()")
    assert room.run(room.held(), lambda: iterated("locks('b')")) == ["b"]
    assert room.notes() == ["there", "b"]


def a_cursor_with_hold_in_words_is_guarded(room: Room, connection: Any) -> None:
    room.ledger.run(FUNCTIONS)
    declare = "declare c cursor with hold for select locks('{}')"

    def inside(text: str) -> None:
        with transaction.atomic():
            rows(connection, declare.format(text))

    for way in (inside, lambda text: rows(connection, declare.format(text))):
        with pytest.raises(LeaseLost):
            room.run(room.lost(), lambda way=way: way("lost"))
        room.run(room.held(), lambda way=way: way("held"))
        assert rows(connection, "fetch all from c") == [("held",)]
        rows(connection, "close c")
        assert room.notes() == ["held"]
        room.ledger.run("delete from note")


def an_error_of_a_server_side_cursor_is_its_own(room: Room, connection: Any) -> None:
    Note.objects.create(text="there")
    with pytest.raises(DataError, match="division"):
        room.run(room.held(), lambda: iterated("1 / (id - 1)"))
    killing = "pg_terminate_backend(pg_backend_pid())"
    with pytest.raises(OperationalError):
        room.run(room.held(), lambda: iterated(killing))
    assert room.run(room.held(), lambda: iterated("1")) == [1]
    assert connection.get_autocommit()


def transactions_in_words_are_refused(room: Room, connection: Any) -> None:
    two = INSERT.format("a") + "; /* a; */ commit; " + INSERT.format("b")
    composed = connection.Database.sql if hasattr(connection.Database, "sql") else _psycopg2_sql()
    texts = [
        ";commit", b"commit", b"select 1; end", composed.SQL("commit"), two,
        composed.SQL("select {}; rollback").format(composed.Literal("a")),
        "select 1; -- no\n begin; " + INSERT.format("a"), "; ; prepare transaction 'x'",
        "create or replace function f() returns int language sql as 'select 1; select 1'; commit",
    ]  # fmt: skip

    def alone(text: Any) -> None:
        rows(connection, text)

    def inside(text: Any) -> None:
        with transaction.atomic():
            Note.objects.create(text="inside")
            rows(connection, text)

    def many(text: Any) -> None:
        with connection.cursor() as cursor:
            cursor.executemany(text, [[]])

    for text in texts:
        for way in (alone, inside, many):
            with pytest.raises(CannotGuard, match="itself"):
                room.run(room.lost(), lambda way=way, text=text: way(text))
            assert connection.connection.info.transaction_status == 0
            assert connection.get_autocommit()
    assert room.notes() == []
    room.run(room.held(), lambda: rows(connection, "commit"), guard=False)


def what_only_looks_like_a_transaction_in_words_passes(room: Room, connection: Any) -> None:
    texts = [
        "select ';commit', E'\\';commit', $a$;commit$a$ as \";commit\" /* ;commit /* */ ;commit */",
        "select case when true then 1 end; select 2 -- ;commit",
        "do $$ begin perform 1; end $$",
        "create temp table t (x int); create rule r as on insert to t do also (select 1; notify n)",
        "create function pg_temp.f() returns int begin atomic select 1;"
        " select case when true then 2 end; end; select pg_temp.f()",
        "savepoint a; rollback to a; rollback work to savepoint a",
    ]

    def work() -> None:
        with transaction.atomic():
            for text in texts:
                rows(connection, text)

    room.run(room.held(), work)
    room.run(room.held(), lambda: [rows(connection, text) for text in texts[:3]])


def a_procedure_that_commits_is_refused_by_name(room: Room, connection: Any) -> None:
    room.ledger.run(FUNCTIONS)
    for text in ("call commits('a')", f"do $$ begin {INSERT.format('b')}; commit; end $$"):
        with pytest.raises(CannotGuard, match="commits by itself"):
            room.run(room.held(), lambda text=text: rows(connection, text))
        assert connection.connection.info.transaction_status == 0
    assert room.notes() == []
    room.run(room.held(), lambda: rows(connection, "call commits('c')"), guard=False)
    assert room.notes() == ["c"]


def errors_of_the_application_stay_its_own(room: Room, connection: Any) -> None:
    Note.objects.create(text="there")
    room.ledger.run(
        "create function nowait() returns text language sql as"
        " 'select text from note for update nowait'"
    )
    nowait = "select text from note for update nowait"
    with _other(room) as other:
        with other.transaction():
            other.execute("select from note for update")
            for way in (lambda: rows(connection, nowait), lambda: iterated("nowait()")):
                with pytest.raises(OperationalError):
                    room.run(room.held(), way)
        assert room.run(room.held(), lambda: rows(connection, nowait)) == [("there",)]
    assert room.refused == []


def a_job_that_is_being_settled_elsewhere_is_named(room: Room, connection: Any) -> None:
    held = room.held()
    settle = "select emq.complete(array[%s], array[%s]::bigint[])"
    with _other(room) as other, other.transaction(force_rollback=True):
        other.execute(settle, [held.id, held.fence])
        with pytest.raises(LeaseBusy):
            room.run(held, lambda: Note.objects.create(text="a"))
        assert room.run(held, lambda: [note.text for note in Note.objects.all()]) == []
    room.run(held, lambda: Note.objects.create(text="b"))
    assert room.notes() == ["b"]
    assert connection.get_autocommit()


def read_only_sessions_are_read(room: Room, connection: Any) -> None:
    room.ledger.run(FUNCTIONS)
    Note.objects.create(text="there")

    def work() -> None:
        rows(connection, "set default_transaction_read_only = on")
        assert [note.text for note in Note.objects.all()] == ["there"]
        assert iterated("text") == ["there"]
        for way in (lambda: Note.objects.create(text="not here"), lambda: iterated("locks('b')")):
            with pytest.raises(InternalError, match="read-only"):
                way()
        rows(connection, "set default_transaction_read_only = off")

    for held in (room.held(), room.held()):
        room.run(held, work)
    assert room.notes() == ["there"]


def answers_are_those_of_the_statement(room: Room, connection: Any) -> None:
    def work() -> None:
        with connection.cursor() as cursor:
            cursor.execute("insert into note (text) values (%s), (%s)", ["a", "b"])
            assert cursor.rowcount == 2
            assert cursor.description is None
            cursor.execute("select text from note order by id -- a comment")
            assert (cursor.rowcount, cursor.description[0].name) == (2, "text")
            assert cursor.fetchone() == ("a",)
            assert cursor.fetchall() == [("b",)]
            cursor.execute("select '100%';")
            assert cursor.fetchall() == [("100%",)]

    room.run(room.held(), work)
    assert room.notes() == ["a", "b"]


def _other(room: Room) -> psycopg.Connection[Any]:
    there = room.ledger.conn.info
    return psycopg.connect(there.dsn, password=there.password, autocommit=True)


def _psycopg2_sql() -> Any:
    from psycopg2 import sql

    return sql


SCENARIOS: dict[str, Callable[[Room, Any], None]] = {
    each.__name__: each
    for each in (
        a_function_that_swallows_errors_writes_for_a_holder,
        a_statement_is_run_once,
        a_text_may_not_choose_to_write_unguarded,
        a_lost_run_commits_no_large_object,
        a_server_side_cursor_writes_for_a_holder_and_for_no_one_else,
        a_cursor_with_hold_in_words_is_guarded,
        an_error_of_a_server_side_cursor_is_its_own,
        transactions_in_words_are_refused,
        what_only_looks_like_a_transaction_in_words_passes,
        a_procedure_that_commits_is_refused_by_name,
        errors_of_the_application_stay_its_own,
        a_job_that_is_being_settled_elsewhere_is_named,
        read_only_sessions_are_read,
        answers_are_those_of_the_statement,
    )
}
