"""A connection that could not be made is made afresh by the next call: nothing is remembered."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from emq_sql.errors import Ambiguous, Retryable
from emq_sql.protocol import connecting
from emq_sql.protocol.link import Link
from tests.plugins.databases import Database
from tests.plugins.proxy import Proxy, proxied


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="emq-r-", dir="/tmp") as made:
        yield Path(made)


def link_to(hosts: str, db: Database) -> Link:
    parts = conninfo_to_dict(db.dsn) | {"host": hosts}
    said = " ".join(f"{name}='{value}'" for name, value in parts.items())
    engine = connecting.engine_for(said)
    return Link(lambda: connecting.dedicated(engine), "emq test")


def answer(conn: psycopg.Connection[Any]) -> int:
    row = conn.execute("select 42").fetchone()
    assert row is not None
    return int(row[0])


def test_the_first_call_after_the_server_is_back_succeeds(db: Database, place: Path) -> None:
    link = link_to(str(place), db)
    for _ in range(3):
        with pytest.raises(Retryable):
            link.call(answer)
    proxy = Proxy(db.dsn, place)
    assert link.call(answer) == 42
    proxy.close()
    link.close()


def test_the_address_behind_a_name_is_looked_up_by_each_attempt(db: Database, place: Path) -> None:
    """A link in the file system stands for the name of a host: where it points to changes."""
    name = place / "name"
    with proxied(db.dsn) as old, proxied(db.dsn) as new:
        name.symlink_to(str(conninfo_to_dict(old.dsn)["host"]))
        link = link_to(str(name), db)
        assert link.call(answer) == 42
        old.close()
        name.unlink()
        name.symlink_to(str(conninfo_to_dict(new.dsn)["host"]))
        with pytest.raises((Ambiguous, Retryable)):
            link.call(answer)
        assert link.call(answer) == 42
        link.close()


def test_of_several_hosts_the_one_that_answers_is_taken(db: Database, place: Path) -> None:
    with proxied(db.dsn) as first, proxied(db.dsn) as second:
        hosts = [str(conninfo_to_dict(each.dsn)["host"]) for each in (first, second)]
        link = link_to(",".join([str(place), *hosts]), db)
        assert link.call(answer) == 42
        first.close()
        with pytest.raises((Ambiguous, Retryable)):
            link.call(answer)
        assert link.call(answer) == 42
        link.close()
