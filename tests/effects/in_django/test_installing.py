"""Which connections of Django's are guarded, and what stays as it was."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest
from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from emq_sql.effects import django as hook
from emq_sql.errors import CannotGuard, LeaseLost
from tests.effects.in_django.room import Note, Room
from tests.plugins.databases import Database

REPLACED = [
    (BaseDatabaseWrapper, "_commit"), (BaseDatabaseWrapper, "_prepare_cursor"),
    (CursorWrapper, "_execute"), (CursorWrapper, "_executemany"), (CursorWrapper, "callproc"),
    (CursorWrapper, "__getattr__"),
]  # fmt: skip


def test_it_is_installed_once_and_can_be_removed(room: Room) -> None:
    installed = [vars(owner)[name] for owner, name in REPLACED]
    hook.install()
    assert [vars(owner)[name] for owner, name in REPLACED] == installed
    hook.uninstall()
    djangos = [vars(owner)[name] for owner, name in REPLACED]
    assert all(one is not other for one, other in zip(djangos, installed, strict=True))
    assert all(one.__module__.startswith("django.") for one in djangos)
    Note.objects.create(text="without it")
    hook.install()
    with pytest.raises(LeaseLost):
        room.run(room.lost(), lambda: Note.objects.create(text="with it"))
    assert room.notes() == ["without it"]


def test_a_connection_that_was_open_before_is_guarded(room: Room) -> None:
    hook.uninstall()
    connection = room.connection()
    connection.ensure_connection()
    cursor = connection.cursor()
    hook.install()
    with pytest.raises(LeaseLost):
        room.run(room.lost(), lambda: Note.objects.create(text="lost"))
    with pytest.raises(LeaseLost):
        room.run(room.lost(), lambda: cursor.execute("insert into note (text) values ('lost')"))
    assert room.notes() == []


def test_the_connections_of_other_threads_are_guarded_in_the_runs_that_have_them(
    room: Room,
) -> None:
    raised: list[BaseException] = []

    def run() -> None:
        try:
            Note.objects.create(text="before it")
            room.run(room.lost(), lambda: Note.objects.create(text="a zombie's"))
        except LeaseLost as error:
            raised.append(error)
        finally:
            room.connection().close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert len(raised) == 1
    assert room.notes() == ["before it"]


def test_another_database_is_left_alone(room: Room, empty_db: Database) -> None:
    other = room.aim(empty_db.dsn, "other")
    with other.cursor() as cursor:
        cursor.execute("create table note (id bigserial primary key, text text unique)")

    def work() -> None:
        Note.objects.using("other").create(text="one")
        with transaction.atomic(using="other"):
            Note.objects.using("other").create(text="two")
        with other.cursor() as cursor:
            cursor.execute("vacuum note")

    room.run(room.lost(), work)
    assert Note.objects.using("other").count() == 2
    assert room.refused == []


def test_the_ledgers_database_under_another_alias_is_recognised(room: Room, db: Database) -> None:
    room.aim(db.dsn, "other")
    for using in ("default", "other"):
        with pytest.raises(LeaseLost):
            room.run(room.lost(), lambda using=using: Note.objects.using(using).create(text="x"))
    assert room.notes() == []


def test_a_role_that_may_not_use_the_guard_is_refused_by_name(room: Room, db: Database) -> None:
    room.ledger.run(
        f"do $$ begin create role emq_test_plain login;"
        f" exception when duplicate_object then null; end $$;"
        f' grant connect on database "{db.name}" to emq_test_plain;'
        f" grant all on note to emq_test_plain"
    )
    connection = room.aim(db.dsn)
    connection.close()
    connection.settings_dict["USER"] = "emq_test_plain"

    def write() -> None:
        with transaction.atomic():
            Note.objects.create(text="may not")

    for way in (write, lambda: Note.objects.create(text="may not")):
        with pytest.raises(CannotGuard, match="emq_test_plain"):
            room.run(room.held(), way)
    assert room.notes() == []

    def read() -> int:
        with transaction.atomic():
            return Note.objects.count()

    assert room.run(room.held(), read) == 0
    connection.close()
    room.ledger.run("drop owned by emq_test_plain; drop role emq_test_plain")


def test_with_the_log_of_statements_on_it_is_the_same(room: Room, connection: Any) -> None:
    connection.force_debug_cursor = True

    def copy() -> None:
        with connection.cursor() as cursor, cursor.copy("copy note (text) from stdin") as copying:
            copying.write_row(["copied"])

    with pytest.raises(LeaseLost):
        room.run(room.lost(), lambda: Note.objects.create(text="lost"))
    with pytest.raises(CannotGuard):
        room.run(room.held(), copy)
    room.run(room.held(), lambda: Note.objects.create(text="held"))
    assert room.run(room.held(), Note.objects.count) == 1
    assert not [query["sql"] for query in connection.queries if "guard" in query["sql"]]
    said = [query["sql"].splitlines()[-1].split()[0] for query in connection.queries]
    assert said == ["INSERT", "INSERT", "SELECT"]
    connection.force_debug_cursor = False


_LATE = """
import sys, os
from emq_sql.effects import django as hook
hook.install()
assert not any(name.startswith("django") for name in sys.modules), "it has imported Django"
from django.conf import settings
off = {"ENGINE": "django.db.backends.postgresql", "NAME": "none"}
settings.configure(DATABASES={"default": off})
from django.db import connection
assert "django.db.backends.base.base" not in sys.modules
hook.install()
connection.vendor
from django.db.backends.base.base import BaseDatabaseWrapper as Wrapper
assert Wrapper._commit.__module__.startswith("emq_sql."), "no connection was met"
hook.uninstall()
assert Wrapper._commit.__module__.startswith("django.")
"""


def test_django_is_not_imported_and_is_met_as_soon_as_it_makes_a_connection() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LATE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_psycopg2_works_unchanged(db: Database) -> None:
    pytest.importorskip("psycopg2")
    done = subprocess.run(
        [sys.executable, "-m", "tests.effects.in_django.with_psycopg2", db.dsn],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
