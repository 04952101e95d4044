"""A standby has the ledger's id and commits nothing: reading there passes."""

from __future__ import annotations

import psycopg
import pytest
from sqlalchemy import create_engine, text

from emq_sql.effects.current import here
from emq_sql.effects.effects import DatabaseEffects
from emq_sql.protocol import steps
from tests.effects.conftest import WRITE, lease_of, sqlalchemy_url
from tests.faults.replica import paired
from tests.plugins.own_server import kind_of
from tests.plugins.running import PgServer
from tests.protocol.calls import Ledger


def test_a_standby_may_be_read_and_the_lost_run_commits_nothing_on_its_primary(
    pg_server: PgServer,
) -> None:
    if pg_server.choice == "docker":
        pytest.skip("the programs of the server are not ours to start")
    with paired(kind_of(pg_server)) as pair:
        with psycopg.connect(pair.primary.dsn) as connection:
            steps.upgrade(connection, schema="emq")
            connection.execute("create table effect (n int)")
        ledger = Ledger(psycopg.connect(pair.primary.dsn, autocommit=True))
        held = ledger.abandoned()
        home = create_engine(sqlalchemy_url(pair.primary.dsn))
        standby = create_engine(sqlalchemy_url(pair.standby.dsn))
        refused: list[str] = []
        DatabaseEffects("emq", home).begin(lease_of(held), refused.append, guard=True)
        try:
            ledger.reap()
            pair.until_caught_up()
            for _ in range(2):
                with standby.begin() as reader:
                    assert reader.scalar(text("select count(*) from effect")) == 0
            assert refused == []
            with pytest.raises(Exception, match="lease"), home.begin() as writer:
                writer.execute(WRITE, {"n": 1})
            assert refused == ["guard"]
        finally:
            here.set(None)
            home.dispose()
            standby.dispose()
            ledger.conn.close()
