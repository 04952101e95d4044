"""The database restarts, crashes, fails over or is demoted in the middle of many jobs.

EMQ_SQL_OUTAGE_JOBS says of how many; the suite runs a slice.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from emq_sql.embedded import Server
from tests.faults.forking import Nursery
from tests.faults.outages import CAMPAIGN, OutageField, reconnected, ride_out
from tests.faults.replica import Pair, paired
from tests.plugins.own_server import kind_of, own_server_of
from tests.plugins.pgbouncer import bounced
from tests.plugins.proxy import proxied
from tests.plugins.running import PgServer


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    made = Nursery("tests.faults.outage_jobs")
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def kind(pg_server: PgServer) -> str | None:
    """Which programs the servers of these tests are."""
    if pg_server.choice == "docker":
        pytest.skip("the server is not ours to restart")
    return kind_of(pg_server)


@pytest.fixture(scope="module")
def frail(kind: str | None) -> Iterator[Server]:
    """A server of this module's own."""
    with own_server_of(kind) as server:
        yield server


@pytest.fixture
def pair(kind: str | None) -> Iterator[Pair]:
    with paired(kind) as made:
        yield made


def field_on(dsn: str, nursery: Nursery, logs: Path) -> OutageField:
    field = OutageField(dsn, logs, reconnected(dsn))
    field.nursery = nursery
    return field


@pytest.fixture
def field(frail: Server, nursery: Nursery, tmp_path: Path) -> Iterator[OutageField]:
    made = field_on(frail.dsn, nursery, tmp_path)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def field_on_pair(pair: Pair, nursery: Nursery, tmp_path: Path) -> Iterator[OutageField]:
    made = field_on(pair.dsn, nursery, tmp_path)
    try:
        yield made
    finally:
        made.close()


def test_a_restart_of_the_database_in_the_middle_of_many_jobs_loses_and_doubles_nothing(
    field: OutageField, frail: Server
) -> None:
    def restart() -> psycopg.Connection[object]:
        frail.restart("fast")
        return reconnected(frail.dsn)

    ride_out(field, restart)


def test_a_crash_of_the_database_in_the_middle_of_many_jobs_loses_and_doubles_nothing(
    field: OutageField, frail: Server
) -> None:
    def crash() -> psycopg.Connection[object]:
        os.kill(frail.pid, signal.SIGKILL)
        frail.restart("immediate")
        return reconnected(frail.dsn)

    ride_out(field, crash)


def test_a_failover_to_a_synchronous_replica_in_the_middle_of_many_jobs_loses_and_doubles_nothing(
    field_on_pair: OutageField, pair: Pair
) -> None:
    """Commits that wait for the replica die with the primary; nobody was told of them."""
    waiting = "select count(*) >= 3 from pg_stat_activity where wait_event = 'SyncRep'"

    def fail_over() -> psycopg.Connection[object]:
        pair.freeze_stream()
        field_on_pair.until(waiting)
        pair.kill_primary()
        pair.promote()
        return reconnected(pair.dsn)

    pair.set("synchronous_standby_names", "*")
    ride_out(field_on_pair, fail_over)


@pytest.mark.skipif(not CAMPAIGN, reason="a part of the campaign: make faults")
def test_after_a_failover_to_an_asynchronous_replica_what_is_left_is_whole_and_settles(
    field_on_pair: OutageField, pair: Pair
) -> None:
    """Acknowledged jobs may be lost and completed ones may run again; that is not promised."""
    completed = "select count(*) from emq.archive"

    def fail_over() -> psycopg.Connection[object]:
        pair.freeze_stream()
        seen = field_on_pair.one(completed)
        field_on_pair.until(f"select ({completed}) >= %s", seen + 50)
        pair.kill_primary()
        pair.promote()
        reader = reconnected(pair.dsn)
        ((left,),) = reader.execute(completed).fetchall()
        assert left < seen + 50, "nothing was lost, so this shows nothing"
        return reader

    ride_out(field_on_pair, fail_over, lose=True)


def test_a_primary_that_becomes_read_only_and_breaks_no_connection_is_left_for_the_other_server(
    field_on_pair: OutageField, pair: Pair
) -> None:
    def demote() -> psycopg.Connection[object]:
        pair.set("default_transaction_read_only", "on")
        pair.until_idle()
        pair.until_caught_up()
        pair.promote()
        return reconnected(pair.dsn)

    ride_out(field_on_pair, demote)
    with psycopg.connect(pair.primary.dsn) as former:
        theirs = "select count(*) from pg_stat_activity where application_name like 'emq claim %%'"
        assert former.execute(theirs).fetchone() == (0,)


@pytest.mark.parametrize("isolation", ["read committed", "serializable"])
def test_a_worker_whose_address_leads_to_a_standby_goes_on_when_it_is_right_again(
    pair: Pair, nursery: Nursery, tmp_path: Path, isolation: str
) -> None:
    """A standby ends no connection, and takes no transaction that is serializable."""
    with proxied(pair.primary.dsn) as address:
        field = OutageField(address.dsn, tmp_path, reconnected(pair.primary.dsn))
        field.nursery = nursery
        try:
            isolated = f"alter database postgres set default_transaction_isolation = '{isolation}'"
            field.reader.execute(isolated.encode())
            worker = field.start()
            field.until_working(worker)
            pair.until_caught_up()
            address.aim(pair.standby.dsn)
            address.cut()
            pair.until_refusing()
            field.enqueue("own", 20, seconds=0)
            address.aim(pair.primary.dsn)
            field.until_archived(20)
            assert worker.poll() is None
        finally:
            field.close()


def test_a_restart_of_pgbouncer_in_the_middle_of_many_jobs_loses_and_doubles_nothing(
    frail: Server, nursery: Nursery, tmp_path: Path
) -> None:
    with bounced(frail.dsn, default_pool_size=40) as bouncer:
        field = field_on(frail.dsn, nursery, tmp_path)
        field.dsn, field.listen = bouncer.dsn, bouncer.direct
        try:
            ride_out(field, bouncer.restart)
        finally:
            field.close()
