"""However its owner ends, the server ends too and leaves nothing."""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

import psycopg
import pytest

from emq_sql.embedded import start
from tests.embedded.conftest import Person
from tests.embedded.processes import alive, eventually, owner

pytestmark = pytest.mark.faults


def expect_the_end(pid: int, directory: Path) -> None:
    eventually(lambda: not alive(pid), "the server has ended")
    eventually(lambda: not directory.exists(), "its directory is gone")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_an_owner_that_is_killed_takes_its_server_along(how: signal.Signals, place: Path) -> None:
    with owner({"server": {"within": str(place)}}) as process:
        facts = process.says()
        busy = psycopg.connect(facts["dsn"])
        busy.execute("create table uncommitted ()")
        process.kill(how)
        expect_the_end(facts["pid"], Path(facts["directory"]))
        busy.close()


def test_an_ordinary_owner_that_is_killed_takes_its_server_along(person: Person) -> None:
    order = {"server": {"within": str(person.home)}}
    with owner(order, python=person.python, path=person.path, **person.popen) as process:
        facts = process.says()
        process.kill(signal.SIGKILL)
        expect_the_end(facts["pid"], Path(facts["directory"]))


def test_persistent_data_stay_when_the_owner_is_killed(place: Path) -> None:
    data = place / "data"
    with owner({"server": {"within": str(place), "data": str(data)}}) as process:
        facts = process.says()
        with psycopg.connect(facts["dsn"]) as connection:
            connection.execute("create table kept ()")
        process.kill(signal.SIGKILL)
        expect_the_end(facts["pid"], Path(facts["directory"]))
    assert not (data / "postmaster.pid").exists()
    with start(data, within=place) as server, psycopg.connect(server.dsn) as connection:
        assert connection.execute("select count(*) from kept").fetchone() == (0,)


@pytest.mark.parametrize(("then", "code"), [("wait", 0), ("raise", 1)])
def test_an_owner_need_not_stop_it(then: str, code: int, place: Path) -> None:
    with owner({"server": {"within": str(place)}, "then": then}) as process:
        facts = process.says()
        assert process.finish() == code
        assert not alive(facts["pid"])
        assert not Path(facts["directory"]).exists()


def test_an_object_that_is_dropped_stops_its_server(place: Path) -> None:
    server = start(within=place)
    pid, directory = server.pid, server.directory
    del server
    gc.collect()
    assert not alive(pid)
    assert not directory.exists()


def test_a_forked_child_does_not_stop_the_server(place: Path) -> None:
    order = {"server": {"within": str(place)}, "then": "forked child stops and exits"}
    with owner(order) as process:
        facts = process.says()
        with psycopg.connect(facts["dsn"]) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
        process.finish()


def test_a_forked_child_does_not_keep_the_server_alive(place: Path) -> None:
    order = {"server": {"within": str(place)}, "then": "forked child lingers"}
    with owner(order) as process:
        facts = process.says()
        process.kill(signal.SIGKILL)
        try:
            expect_the_end(facts["pid"], Path(facts["directory"]))
            assert alive(facts["child"])
        finally:
            os.kill(facts["child"], signal.SIGKILL)


def test_the_owner_cleans_up_when_the_supervisor_was_killed(place: Path) -> None:
    server = start(within=place)
    os.kill(server._supervision._process.pid, signal.SIGKILL)
    server.stop()
    assert not alive(server.pid)
    assert not server.directory.exists()


# What is there to be seen once a start has come so far.
MOMENTS = ("emq-*", "emq-*/.data.*/PG_VERSION", "emq-*/data/postmaster.pid")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_start_that_is_interrupted_leaves_nothing(
    moment: str, how: signal.Signals, place: Path
) -> None:
    with owner({"server": {"within": str(place)}}) as process:
        eventually(lambda: list(place.glob(moment)), "the start has come so far")
        process.kill(how)
        eventually(lambda: not list(place.iterdir()), "nothing is left")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_persistent_data_are_made_whole_or_not_at_all(how: signal.Signals, place: Path) -> None:
    kept = place / "kept"
    with owner({"server": {"within": str(place), "data": str(kept / "data")}}) as process:
        eventually(lambda: list(kept.glob(".data.*/PG_VERSION")), "initdb is at work")
        process.kill(how)
        eventually(lambda: not list(place.glob("emq-*")), "the supervisor is done")
    assert list(kept.iterdir()) == []
