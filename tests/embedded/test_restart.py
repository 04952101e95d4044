"""A server that is stopped, crashed and started again under its users."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Literal

import psycopg
import pytest

from emq_sql.embedded import start
from emq_sql.errors import BadSetting, ServerDidNotStart
from tests.embedded.processes import alive, eventually

pytestmark = pytest.mark.faults


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restart_keeps_all_that_was_committed_and_the_address(
    place: Path, mode: Literal["fast", "immediate"]
) -> None:
    with start(within=place) as server:
        dsn, pid = server.dsn, server.pid
        with psycopg.connect(dsn) as connection:
            connection.execute("create table kept as select generate_series(1, 1000) as n")
        session = psycopg.connect(dsn)
        server.restart(mode)
        with pytest.raises(psycopg.OperationalError):
            session.execute("select 1")
        session.close()
        assert server.dsn == dsn
        assert server.pid != pid
        assert not alive(pid)
        with psycopg.connect(dsn) as connection:
            assert connection.execute("select count(*) from kept").fetchone() == (1000,)


def test_prepared_transactions_survive_a_crash_of_the_server(place: Path) -> None:
    with start(within=place, prepared_transactions=2) as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("begin; create table later (); prepare transaction 'later'")
        server.restart("immediate")
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("commit prepared 'later'")
            assert connection.execute("select count(*) from later").fetchone() == (0,)


def test_a_server_that_was_killed_starts_again(place: Path) -> None:
    with start(within=place) as server:
        with psycopg.connect(server.dsn) as connection:
            connection.execute("create table kept ()")
        os.kill(server.pid, signal.SIGKILL)
        server.restart()
        with psycopg.connect(server.dsn) as connection:
            assert connection.execute("select count(*) from kept").fetchone() == (0,)


def test_a_killed_server_starts_again_once_its_last_session_has_left(place: Path) -> None:
    # A session that computes does not look whether its postmaster lives, and holds the old memory.
    busy = """do $$ declare ends timestamptz := clock_timestamp() + '2 seconds';
              begin while clock_timestamp() < ends loop end loop; end $$"""
    with start(within=place) as server, psycopg.connect(server.dsn, autocommit=True) as reader:
        session = psycopg.connect(server.dsn, autocommit=True)
        session.pgconn.send_query(busy.encode())
        asks = "select state from pg_stat_activity where pid = %s"
        pid = session.info.backend_pid
        eventually(lambda: reader.execute(asks, [pid]).fetchone() == ("active",), "it computes")
        os.kill(server.pid, signal.SIGKILL)
        server.restart()
        session.close()
        with psycopg.connect(server.dsn) as connection:
            assert connection.execute("select 1").fetchone() == (1,)


def test_a_frozen_server_can_be_restarted(place: Path) -> None:
    with start(within=place) as server:
        os.kill(server.pid, signal.SIGSTOP)
        server.restart()
        with psycopg.connect(server.dsn) as connection:
            assert connection.execute("select 1").fetchone() == (1,)


def test_persistent_data_are_there_for_the_next_server(place: Path) -> None:
    data = place / "kept" / "data"
    with start(data, within=place) as server, psycopg.connect(server.dsn) as connection:
        connection.execute("create table kept ()")
    assert list(place.glob("emq-*")) == []
    with start(data, within=place) as server, psycopg.connect(server.dsn) as connection:
        assert connection.execute("select count(*) from kept").fetchone() == (0,)


def test_data_in_use_are_refused_and_stay_in_use(place: Path) -> None:
    with start(place / "data", within=place) as server:
        with pytest.raises(ServerDidNotStart, match="lock file"):
            start(place / "data", within=place)
        with psycopg.connect(server.dsn) as connection:
            assert connection.execute("select 1").fetchone() == (1,)


def test_a_server_that_was_stopped_says_so(place: Path) -> None:
    with start(within=place) as server:
        pass
    with pytest.raises(ServerDidNotStart, match="stopped"):
        server.restart()


def test_only_known_ways_to_restart_are_taken(place: Path) -> None:
    with start(within=place) as server:
        with pytest.raises(BadSetting, match="slow"):
            server.restart("slow")  # type: ignore[arg-type]
        eventually(lambda: alive(server.pid), "the server still runs")
