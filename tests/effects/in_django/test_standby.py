"""A standby is read with Django, in blocks and outside of them."""

from __future__ import annotations

import psycopg
import pytest
from django.db import InternalError, transaction

from emq_sql.protocol import steps
from tests.effects.in_django.room import Note, furnished
from tests.faults.replica import paired
from tests.plugins.databases import Database
from tests.plugins.own_server import kind_of
from tests.plugins.running import PgServer


def test_a_standby_is_read_by_runs_that_hold_their_job_and_by_those_that_lost_it(
    pg_server: PgServer,
) -> None:
    if pg_server.choice == "docker":
        pytest.skip("the programs of the server are not ours to start")
    with paired(kind_of(pg_server)) as pair:
        with psycopg.connect(pair.primary.dsn) as connection:
            steps.upgrade(connection, schema="emq")
        with furnished(Database(pair.primary.dsn, "")) as room:
            Note.objects.create(text="there")
            pair.until_caught_up()

            def read() -> list[list[str]]:
                notes = Note.objects.using("other")
                with transaction.atomic(using="other"):
                    inside = [note.text for note in notes.all()]
                with pytest.raises(InternalError, match="read-only"):
                    notes.create(text="not here")
                return [
                    inside, [note.text for note in notes.all()],
                    [note.text for note in notes.iterator()],
                ]  # fmt: skip

            for binding in (False, True):
                room.aim(pair.standby.dsn, "other", OPTIONS={"server_side_binding": binding})
                for held in (room.held(), room.lost()):
                    assert room.run(held, read) == [["there"]] * 3
            assert room.refused == []
            room.ledger.conn.close()
