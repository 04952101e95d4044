"""A bare statement of a process that is frozen keeps nobody waiting for ever."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.effects.in_django.room import Note, Room
from tests.plugins.databases import Database


@pytest.mark.faults
@pytest.mark.parametrize("binding", ["client", "server"])
def test_a_row_that_a_frozen_process_has_updated_can_be_had(
    room: Room, db: Database, binding: str
) -> None:
    Note.objects.create(text="there")
    room.ledger.run("""
      create function tells() returns trigger language plpgsql as $$
      begin raise notice 'done'; return new; end $$;
      create trigger tells before update on note for each row
        when (new.text = 'frozen') execute function tells()""")
    held = room.held()
    program = [sys.executable, "-m", "tests.effects.in_django.frozen"]
    arguments = [db.dsn, str(held.id), str(held.fence), binding]
    with subprocess.Popen([*program, *arguments], stderr=subprocess.PIPE, text=True) as process:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), process.stderr and process.stderr.read()
        try:
            # Waits for the row: for nothing, or for the bound.
            room.ledger.run("update note set text = 'of the next one'")
        finally:
            process.send_signal(signal.SIGCONT)
        try:
            _, said = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert room.notes() == ["of the next one"]
    # One text is done by the server alone; where there were three, what was begun is gone.
    assert (process.returncode == 0) is (binding == "client"), said
    if binding == "server":
        assert "django.db.utils" in said


def test_the_bound_of_a_bare_statement_is_the_lease_and_a_shorter_one_stays(
    room: Room, db: Database
) -> None:
    connection = room.aim(db.dsn, OPTIONS={"server_side_binding": True})

    def idle() -> str:
        with connection.cursor() as cursor:
            cursor.execute("select current_setting('idle_in_transaction_session_timeout')")
            return str(cursor.fetchone()[0])

    def in_a_session_with(limit: str) -> str:
        with connection.cursor() as cursor:
            cursor.execute(f"set idle_in_transaction_session_timeout = '{limit}'")
        return room.run(room.held(), idle)

    assert in_a_session_with("0") == "30s"
    assert in_a_session_with("1h") == "30s"
    assert idle() == "1h"
    assert in_a_session_with("1500ms") == "1500ms"
