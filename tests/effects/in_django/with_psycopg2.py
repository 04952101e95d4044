"""The same with psycopg2: `python -m tests.effects.in_django.with_psycopg2 DSN [SCENARIO]`."""

from __future__ import annotations

import sys

import psycopg
import pytest
from sqlalchemy.dialects.postgresql import psycopg as _  # noqa: F401 - needs psycopg, as we do

from emq_sql.errors import CannotGuard, LeaseLost
from tests.plugins.databases import Database


def load_django_without_psycopg() -> None:
    """Django takes psycopg2 when there is no other."""
    sys.modules["psycopg"] = None  # type: ignore[assignment]
    try:
        import django.db.backends.postgresql.base  # noqa: F401
    finally:
        sys.modules["psycopg"] = psycopg


def run(dsn: str, scenario: str) -> None:
    load_django_without_psycopg()
    from tests.effects.in_django.room import furnished
    from tests.effects.in_django.scenarios import SCENARIOS

    with furnished(Database(dsn, "")) as room:
        connection = room.connection()
        connection.ensure_connection()
        assert type(connection.connection).__module__.startswith("psycopg2")
        SCENARIOS[scenario](room, connection)
        room.ledger.conn.close()


def main(dsn: str) -> None:
    load_django_without_psycopg()
    from django.db import IntegrityError, transaction

    from tests.effects.in_django.room import Note, furnished

    with furnished(Database(dsn, "")) as room:
        connection = room.connection()
        connection.ensure_connection()
        assert type(connection.connection).__module__.startswith("psycopg2")

        def block() -> None:
            with transaction.atomic():
                Note.objects.create(text="in a block")

        def copy() -> None:
            with connection.cursor() as cursor:
                cursor.copy_to(sys.stderr, "note")

        room.run(room.held(), lambda: Note.objects.create(text="alone"))
        room.run(room.held(), block)
        for way in (lambda: Note.objects.create(text="lost"), block):
            Note.objects.filter(text="in a block").delete()
            with pytest.raises(LeaseLost):
                room.run(room.lost(), way)
        for way in (copy, lambda: connection.cursor().execute("vacuum note")):
            with pytest.raises(CannotGuard):
                room.run(room.held(), way)
        with pytest.raises(IntegrityError):
            room.run(room.held(), lambda: Note.objects.create(text="alone"))
        lost = room.lost()
        assert room.run(lost, lambda: [note.text for note in Note.objects.all()]) == ["alone"]
        for run in [room.held(), *([lost] if room.can_hold_to_reading else [])]:
            assert room.run(run, lambda: [note.text for note in Note.objects.iterator()]) == [
                "alone"
            ]
        assert room.notes() == ["alone"]
        room.ledger.conn.close()


if __name__ == "__main__":
    run(*sys.argv[1:]) if sys.argv[2:] else main(sys.argv[1])
