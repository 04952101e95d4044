"""A server of one's own: what it is, and that it keeps apart from everything around it."""

from __future__ import annotations

import importlib.util
import os
import re
import stat
import sys
import time
from pathlib import Path

import psycopg
import pytest

from emq_sql.embedded import Server, start
from emq_sql.errors import BadSetting
from tests.embedded.conftest import Person
from tests.embedded.processes import alive, naming, owner


def value(server: Server, question: str) -> object:
    with psycopg.connect(server.dsn) as connection:
        (answer,) = connection.execute(question).fetchone() or (None,)
        return answer


def test_it_starts_for_root_and_for_an_ordinary_user(person: Person) -> None:
    order = {"server": {"within": str(person.home)}}
    with owner(order, python=person.python, path=person.path, **person.popen) as process:
        facts = process.says()
        directory = Path(facts["directory"])
        assert facts["uid"] != 0
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        assert alive(facts["pid"])
        if os.geteuid() in (0, facts["uid"]):
            with psycopg.connect(facts["dsn"]) as connection:
                assert connection.execute("select current_user").fetchone() == ("postgres",)
        assert process.finish() == 0
        assert not alive(facts["pid"])
        assert list(person.home.iterdir()) == []


def test_it_says_what_it_is(place: Path) -> None:
    with start(within=place) as server:
        assert server.dsn == f"postgresql://postgres@/postgres?host={server.directory}&port=5432"
        assert str(value(server, "show server_version")).split()[0] == server.version
        assert server.major == int(server.version.split(".")[0])
        assert value(server, "show data_directory") == str(server.data)
        assert (server.bindir / "initdb").is_file()
        assert int((server.data / "postmaster.pid").read_text().split()[0]) == server.pid
        assert server.log.is_file()
        assert value(server, "show listen_addresses") == ""


def test_two_servers_run_at_once_and_each_stops_alone(place: Path) -> None:
    with start(within=place) as first, start(within=place) as second:
        assert first.dsn != second.dsn
        first.stop()
        assert not alive(first.pid)
        assert value(second, "select 1") == 1


def test_stopping_twice_does_no_harm_and_leaves_nothing(place: Path) -> None:
    server = start(within=place)
    server.stop()
    server.stop()
    assert list(place.iterdir()) == []
    assert naming(place) == []


def test_fast_settings_still_keep_what_was_acknowledged(place: Path) -> None:
    with start(within=place) as server:
        assert value(server, "show fsync") == "off"
        assert value(server, "show synchronous_commit") == "on"


def test_durable_settings_are_those_of_postgresql(place: Path) -> None:
    with start(within=place, durable=True) as server:
        assert value(server, "show fsync") == "on"
        assert value(server, "show full_page_writes") == "on"


def test_options_and_prepared_transactions_reach_the_server(place: Path) -> None:
    options = {"max_connections": 33, "log_min_messages": "error", "autovacuum": False}
    with start(within=place, options=options, prepared_transactions=7, port=6543) as server:
        assert value(server, "show max_connections") == "33"
        assert value(server, "show autovacuum") == "off"
        assert value(server, "show max_prepared_transactions") == "7"
        assert value(server, "show port") == "6543"


@pytest.mark.parametrize("name", ["port", "data_directory", "unix_socket_directories"])
def test_options_that_it_sets_itself_are_refused(name: str) -> None:
    with pytest.raises(BadSetting, match=name):
        start(options={name: "x"})


@pytest.mark.parametrize("name", ["x" * 90, "mine, yours"])
def test_a_place_where_no_socket_can_be_reached_is_refused_by_name(name: str, place: Path) -> None:
    (place / name).mkdir()
    with pytest.raises(BadSetting, match="107 bytes"):
        start(within=place / name)


def test_the_longest_place_that_is_taken_can_be_reached(place: Path) -> None:
    longest = place / ("x" * (107 - len(f"{place}//emq-12345678/.s.PGSQL.5432")))
    longest.mkdir()
    with start(within=longest) as server:
        assert value(server, "select 1") == 1


def test_data_may_lie_deep_and_be_named_oddly(place: Path) -> None:
    deep = place / ("d" * 120) / "of one, 'two' and \"three\""
    for _ in range(2):
        with start(deep, within=place) as server:
            assert value(server, "show data_directory") == str(deep)


def test_the_settings_of_the_user_do_not_reach_the_server(place: Path) -> None:
    env = {
        "PGPORT": "1",
        "PGDATA": "/nowhere",
        "PGHOST": "nowhere.invalid",
        "PGOPTIONS": "-c work_mem=1MB",
        "PGTZ": "Asia/Tokyo",
        "TZ": "Asia/Tokyo",
        "LC_ALL": "tr_TR.UTF-8",
        "EMQ_MARK": "seen",
    }
    with owner({"server": {"within": str(place)}}, env=env) as process:
        facts = process.says()
        with psycopg.connect(facts["dsn"]) as connection:
            show = "select current_setting(%s)"
            assert connection.execute(show, ["timezone"]).fetchone() == ("UTC",)
            assert connection.execute(show, ["lc_messages"]).fetchone() == ("C",)
            assert connection.execute(show, ["server_encoding"]).fetchone() == ("UTF8",)
            assert connection.execute(show, ["port"]).fetchone() == ("5432",)
        environ = Path("/proc", str(facts["pid"]), "environ")
        if environ.exists():
            names = set(re.findall(r"(?:^|\0)([^=\0]+)=", environ.read_text()))
            assert not names & (set(env) - {"TZ", "LC_ALL"})


@pytest.mark.skipif(sys.platform != "linux", reason="libfaketime is loaded by the Linux linker")
def test_the_clock_of_the_owner_is_not_the_clock_of_the_server(place: Path) -> None:
    spec = importlib.util.find_spec("libfaketime")
    found = [] if spec is None else list(Path(str(spec.origin)).parent.rglob("libfaketime.so.1"))
    if not found:
        pytest.skip("libfaketime is not installed")
    env = {"LD_PRELOAD": str(found[0]), "FAKETIME": "+3d", "DONT_FAKE_MONOTONIC": "1"}
    with owner({"server": {"within": str(place)}}, env=env) as process:
        facts = process.says()
        with psycopg.connect(facts["dsn"]) as connection:
            (now,) = connection.execute("select clock_timestamp()").fetchone() or ()
        assert abs(now.timestamp() - time.time()) < 86400
