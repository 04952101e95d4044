"""What the application's own listeners send at a commit, after the guard was asked."""

from __future__ import annotations

import pytest
from sqlalchemy import event, text
from sqlalchemy.engine import Connection, Engine

from emq_sql.errors import LeaseLost
from tests.effects.conftest import WRITE, Running


def reads(connection: Connection) -> None:
    connection.execute(text("select count(*) from effect"))


def writes(connection: Connection) -> None:
    connection.execute(WRITE, {"n": 7})


def test_one_that_reads_costs_a_reading_transaction_nothing(run: Running, home: Engine) -> None:
    event.listen(home, "commit", reads)
    run.begin()
    reading = home.execution_options(postgresql_readonly=True)
    with reading.begin() as connection:
        connection.execute(text("select 1"))
    run.lose()
    with reading.begin() as connection:  # a lost job may read
        connection.execute(text("select 1"))
    assert run.refused == []


def test_one_that_writes_is_guarded(run: Running, home: Engine) -> None:
    event.listen(home, "commit", writes)
    run.begin()
    with home.begin() as connection:
        connection.execute(text("select 1"))
    assert run.written() == [7]
    run.lose()
    with pytest.raises(LeaseLost), home.begin() as connection:
        connection.execute(text("select 1"))
    assert run.written() == [7]
    assert run.refused == ["guard"]
