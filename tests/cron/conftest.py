"""One evening with pg_cron: what the tests look at happens in the same minute of real clusters.

pg_cron begins its jobs with a minute. So all is prepared, that minute is waited for once, and each
test looks at what it has brought. They run with EMQ_SQL_TEST_CRON=1 only (make test-cron), on the
programs of EMQ_SQL_PG_BINDIR, which must have pg_cron.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from emq_sql.errors import EmbeddedError
from emq_sql.upkeep import cron
from tests.cron.clusters import HOME, Cluster, Place, cluster, ledger, until

ODD = "we'ird \\ \"x*/ 100%"
KEEPER = "keeper"  # owns a ledger, and is no superuser
FAKES = 10_000
LOOKS = 50

_FAKE = (
    "insert into cron.job_run_details (jobid, database, username, command, status, start_time)"
    " select %s, 'x', 'postgres', 'fake', 'succeeded', now() - interval '1 h'"
    " from generate_series(1, %s)"
)
_TAKEN_BACK = "select exists (select from emq.pending where id = %s and stalled = 1)"


@dataclass
class Evening:
    """Two clusters, and the ledgers in them, after the minute that was waited for."""

    plain: Cluster  # its jobs go through libpq
    workers: Cluster  # its jobs are background workers, and none is a superuser's
    places: dict[str, Place]
    abandoned: dict[str, UUID]
    other: int  # a job of somebody else
    not_created: str  # what the command said before pg_cron was created
    looked: list[list[cron.JobState]]  # what was seen before the minute
    unlooked: list[Any]  # pg_cron's tables before and after

    def __getitem__(self, name: str) -> Place:
        return self.places[name]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("EMQ_SQL_TEST_CRON"):
        return
    skip = pytest.mark.skip(reason="they need pg_cron and a minute: make test-cron")
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def evening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evening]:
    folder = tmp_path_factory.mktemp("cron")
    in_workers = {"cron.use_background_workers": "on", "cron.enable_superuser_jobs": "off"}
    with ExitStack() as stack:
        try:
            plain = stack.enter_context(cluster())
            workers = stack.enter_context(cluster(**in_workers))
        except EmbeddedError as error:
            pytest.fail(f"A server with pg_cron is needed: {error}")
        yield _evening(plain, workers, folder)


def _evening(plain: Cluster, workers: Cluster, folder: Path) -> Evening:
    places = {
        "home": ledger(plain, HOME, folder / "home"),
        "shop": ledger(plain, "shop", folder / "shop"),
        "odd": ledger(plain, ODD, folder / "odd"),
        "broken": ledger(plain, "broken", folder / "broken"),
        "kept": ledger(workers, "kept", folder / "kept", KEEPER),
    }
    told = places["kept"].emq("cron", "status")
    assert told.code == 3
    for each in (plain, workers):
        each.run("create extension pg_cron")
    workers.run(
        f"grant usage on schema cron to {KEEPER};"
        f" grant execute on function cron.schedule_in_database to {KEEPER}"
    )
    with ThreadPoolExecutor(2) as pool:
        jobs = dict(zip(places, pool.map(Place.abandon, places.values()), strict=True))
        # What is looked at before the minute must not meet it.
        until(lambda: plain.one("select extract(second from clock_timestamp()) < 45"), "early")
        list(pool.map(Place.install, places.values()))
    other = _tampered(plain, places)
    before = _tables(plain)
    looked = [_look(places["shop"]) for _ in range(LOOKS)]
    unlooked = [before, _tables(plain)]
    for name in ("home", "shop", "odd", "kept"):
        until(lambda name=name: places[name].field.one(_TAKEN_BACK, jobs[name]), f"{name} is back")
    for place, kind, status in (("shop", "prune", "succeeded"), ("broken", "maintain", "failed")):
        job = places[place].jobs[kind][0]
        until(lambda job=job, s=status: s in dict(plain.runs(job)), f"{kind} of {place} {status}")
    return Evening(plain, workers, places, jobs, other, told.err, looked, unlooked)


def _tampered(plain: Cluster, places: dict[str, Place]) -> int:
    """Runs that were never made, a job that fails, one that prunes at once; somebody else's job."""
    other: int = plain.one("select cron.schedule('other', '* * * * *', 'select 1')")
    shop, broken = places["shop"].jobs, places["broken"].jobs
    plain.run(_FAKE, shop["maintain"][0], FAKES)
    plain.run(_FAKE, other, 10)
    plain.run("select cron.alter_job(%s, schedule => '* * * * *')", shop["prune"][0])
    failing = broken["maintain"][2].replace("call ", "select 1 / 0; call ")
    plain.run("select cron.alter_job(%s, command => %s)", broken["maintain"][0], failing)
    return other


def _look(place: Place) -> list[cron.JobState]:
    with cron.reached(place.field.reader, "emq") as found:
        return cron.status(found)


def _tables(plain: Cluster) -> list[tuple[Any, ...]]:
    return plain.run(
        "select 'job', to_jsonb(j), j.xmin::text from cron.job j union all"
        " select 'run', to_jsonb(r), r.xmin::text from cron.job_run_details r order by 1, 2"
    )
