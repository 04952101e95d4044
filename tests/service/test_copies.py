"""A restored dump runs nothing until it is adopted; then it runs what was said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from emq_sql.cli.main import main
from tests.plugins.databases import scratch, template_with_schema
from tests.plugins.dumping import dumped, restored
from tests.plugins.running import PgServer
from tests.service.conftest import ROOT, Place

pytestmark = pytest.mark.faults

HOLDER = ROOT / "tests" / "cli" / "holder.py"
PLACES = "pending", "scheduled", "active", "dead", "archive", "attempt"


@dataclass
class Copy(Place):
    """A copy of production, and what an operator and a worker do there."""

    def emq(self, *words: str) -> str:
        done = CliRunner().invoke(main, [*words, "--dsn", self.dsn])
        assert done.exit_code == 0, (words, done.output)
        return done.output

    def counts(self) -> dict[str, int]:
        return {p: self.rows(f"select count(*) from emq.{p}")[0][0] for p in PLACES}

    def refused(self, **env: str) -> str:
        """What a worker says that does not start; it has touched no job."""
        before = self.counts()
        worker = self.start("--burst", **env)
        assert worker.wait() == 1, worker.said()
        assert self.counts() == before
        assert "EMQ306" in worker.said() and "Traceback" not in worker.said()
        return worker.said()

    def worked(self, **env: str) -> dict[str, int]:
        """What is where after a worker has worked until the queues were empty."""
        worker = self.start("--burst", **env)
        assert worker.wait() == 0, worker.said()
        return self.counts()


def production(place: Place) -> None:
    """Two jobs wait, one is scheduled, one is held by a worker that was killed, one is dead."""
    worker = place.start("--burst")
    assert worker.wait() == 0, worker.said()  # this is home
    place.enqueue("says", text="held")
    holder = subprocess.Popen(
        [sys.executable, HOLDER, place.dsn, "default", "1", "3600"], stdout=subprocess.PIPE,
        cwd=ROOT,
    )  # fmt: skip
    with holder:
        assert holder.stdout is not None and holder.stdout.readline()
        os.kill(holder.pid, signal.SIGKILL)
    place.enqueue("says", text="dead", _max_attempts=1)
    place.rows(
        "select emq.retry(array[id], array[fence], null, null) from emq.claim('default', 1, 'w', 1)"
    )
    place.enqueue("says", 2, text="waits")
    place.enqueue("says", text="later", _delay=timedelta(hours=1))


@pytest.fixture(scope="module")
def dumps(pg_server: PgServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Of one production database: while it had no tag, and with one."""
    folder = tmp_path_factory.mktemp("production")
    with scratch(pg_server, template_with_schema(pg_server)) as original:
        place = Place(original.dsn, folder, original.connect())
        production(place)
        untagged = dumped(pg_server, original, folder / "untagged")
        place.rows("select emq.tag('production')")
        return {"untagged": untagged, "tagged": dumped(pg_server, original, folder / "tagged")}


@pytest.fixture
def copy(
    request: pytest.FixtureRequest, pg_server: PgServer, dumps: dict[str, Path], tmp_path: Path
) -> Iterator[Copy]:
    """One of the dumps, restored as another database."""
    with restored(pg_server, dumps[request.param]) as there:
        made = Copy(there.dsn, tmp_path, there.connect())
        try:
            yield made
        finally:
            made.close()


LEFT = {"pending": 2, "scheduled": 1, "active": 1, "dead": 1, "archive": 0, "attempt": 1}


@pytest.mark.parametrize("copy", ["untagged"], indirect=True)
def test_a_copy_without_a_tag_runs_nothing_before_it_is_adopted_to_run(copy: Copy) -> None:
    assert copy.counts() == LEFT
    said = copy.refused(AN_APP_ENVIRONMENT="staging")
    assert "not where its workers first ran" in said and "emq adopt --hold" in said
    copy.emq("adopt", "--run")
    copy.emq("release-worker", "holder-1")  # of production: or its lease comes to an end
    assert copy.worked() == LEFT | {"pending": 0, "active": 0, "archive": 3, "attempt": 2}


@pytest.mark.parametrize("copy", ["tagged"], indirect=True)
def test_a_copy_with_a_tag_is_held_until_somebody_resumes_it(copy: Copy) -> None:
    assert 'tagged for the environment "production"' in copy.refused(AN_APP_ENVIRONMENT="staging")
    copy.emq("adopt", "--hold", "--environment", "staging")
    assert copy.worked(AN_APP_ENVIRONMENT="staging") == LEFT
    copy.emq("resume", "default")
    assert copy.worked(AN_APP_ENVIRONMENT="staging") == LEFT | {"pending": 0, "archive": 2}


@pytest.mark.parametrize("copy", ["tagged"], indirect=True)
def test_what_a_copy_brought_is_discarded_and_its_ids_stay_known(copy: Copy) -> None:
    wrong = CliRunner().invoke(
        main,
        ["adopt", "--discard", "--environment", "staging", "--confirm", "x", "--dsn", copy.dsn],
    )
    assert (wrong.exit_code, copy.counts()) == (2, LEFT)
    name = copy.reader.info.dbname
    copy.emq("adopt", "--discard", "--environment", "staging", "--confirm", name, "--limit", "2")
    gone = {"pending": 0, "scheduled": 0, "active": 0, "dead": 0, "archive": 5, "attempt": 2}
    assert copy.counts() == gone
    assert copy.rows("select emq.at_home('staging')") == [("yes",)]


@pytest.mark.parametrize("copy", ["tagged"], indirect=True)
def test_production_that_was_restored_elsewhere_goes_on_by_its_tag(copy: Copy) -> None:
    assert copy.worked(AN_APP_ENVIRONMENT="production") == LEFT | {"pending": 0, "archive": 2}
    assert copy.rows("select home = emq.here() from emq.meta") == [(True,)]
