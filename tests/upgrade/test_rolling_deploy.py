"""The schema goes up under load, between the workers of the release before and those of this one.

EMQ_SQL_ROLLING_JOBS=10000 for a longer campaign.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from emq_sql.embedded import Server
from emq_sql.protocol import steps
from tests.plugins.databases import url
from tests.plugins.own_server import kind_of, own_server_of
from tests.plugins.running import PgServer
from tests.protocol.calls import Ledger
from tests.upgrade.releases import HERE, release_before

pytestmark = [pytest.mark.faults, pytest.mark.timeout(600)]
JOBS = int(os.environ.get("EMQ_SQL_ROLLING_JOBS", "1200"))
APP = "tests.upgrade.rolling_app"
NEWEST = steps.newest()
TABLES = """
create table orders (id bigint generated always as identity primary key, job uuid not null);
create table effect (
  job uuid not null, task text not null, release text not null, pid int not null);
create index effect_job_idx on effect (job);
"""
UNFINISHED = """exists (select from orders o where not exists
                 (select from emq.archive a where a.id = o.job and a.status = 'completed'))"""
SENT = r"^(?P<role>web|worker|owner)\|LOG:  (?:statement|execute [^:]*): "
FIRST_WORD = re.compile(SENT + r"(?:\s*--[^\n]*\n)*\s*(?P<word>\w+)", re.M)
QUERIES = {"select", "insert", "update", "delete", "with", "show", "values", "table", "fetch"}
SESSION = {"begin", "commit", "rollback", "savepoint", "release", "set", "reset", "listen",
           "unlisten", "notify", "deallocate", "discard", "close", "declare"}  # fmt: skip


@dataclass
class Deploy:
    """A server with a log of all statements, three roles, and processes of two releases."""

    server: Server
    dsn: str
    folder: Path
    watch: Ledger
    paths: dict[str, str]
    known: int  # the schema of the release before
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)

    def emq(self, release: str, *words: str, role: str = "owner") -> str:
        """An `emq` command of that release, which must end well."""
        done = subprocess.run(
            [sys.executable, "-m", "emq_sql", *words], cwd=self.folder, timeout=120,
            env=self.environ(release, role), capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def worker(self, name: str, release: str) -> None:
        command = ["-m", "emq_sql", "worker", "--app", f"{APP}:emq", "--poll", "0.1"]
        self._start(name, release, "worker", *command, "--concurrency", "4")

    def producer(self, name: str, release: str) -> None:
        self._start(name, release, "web", "-m", APP, name)

    def _start(self, name: str, release: str, role: str, *words: str) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            self.running[name] = subprocess.Popen(
                [sys.executable, *words], cwd=self.folder, stdout=log, stderr=subprocess.STDOUT,
                env=self.environ(release, role), start_new_session=True,
            )  # fmt: skip

    def environ(self, release: str, role: str) -> dict[str, str]:
        # The package of the release comes before that of this checkout, which has the tests.
        mine = {
            "PYTHONPATH": os.pathsep.join(dict.fromkeys([self.paths[release], HERE])),
            "EMQ_DSN": self.as_role(role),
            "ROLLING_RELEASE": release,
            "ROLLING_FOLDER": str(self.folder),
        }
        return {k: v for k, v in os.environ.items() if not k.startswith("EMQ_")} | mine

    def as_role(self, role: str) -> str:
        return self.dsn.replace("postgres@", f"{role}@", 1)

    def end(self, *names: str) -> None:
        """Tell them to stop as a deploy does; each must end well."""
        self.ended.update(names)
        for name in names:
            (self.folder / f"stop-{name}").touch()
            if name.endswith("worker"):
                self.running[name].send_signal(signal.SIGTERM)
        for name in names:
            assert self.running[name].wait(60) == 0, self.said(name)

    def said(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def until(self, query: str, *params: Any) -> None:
        """Wait for what the database says, while all those live who should."""
        end = time.monotonic() + 120
        while not self.watch.one(f"select {query}", *params):
            for name in self.running:
                assert name in self.ended or self.running[name].poll() is None, self.said(name)
            assert time.monotonic() < end, f"never came true: {query}"
            time.sleep(0.02)

    def more(self, release: str, n: int) -> None:
        """Wait for so many further effects of this release's workers."""
        count = "(select count(*) from effect where release = %s)"
        now = self.watch.one(f"select {count}", release)
        self.until(f"{count} >= %s", release, now + n)

    def close(self) -> None:
        for process in self.running.values():
            if process.poll() is None:
                process.kill()
                process.wait()


@pytest.fixture(params=sorted({6, NEWEST}))
def deploy(request: pytest.FixtureRequest, pg_server: PgServer, tmp_path: Path) -> Iterator[Deploy]:
    """At the release before the step, with its schema and its roles."""
    old = tmp_path / "old"
    old.mkdir()
    paths = {"old": release_before(request.param, old), "new": HERE}
    with own_server_of(
        kind_of(pg_server), {"log_statement": "all", "log_line_prefix": "%u|"}
    ) as server:
        with psycopg.connect(server.dsn, autocommit=True) as admin:
            for role in ("owner", "web", "worker"):
                admin.execute(f"create role {role} login".encode())
            admin.execute("alter role owner createrole; grant pg_signal_backend to owner")
            admin.execute("create database shop owner owner")
        dsn = url(server.dsn, "shop")
        conn = psycopg.connect(dsn, autocommit=True)
        made = Deploy(server, dsn, tmp_path, Ledger(conn), paths, request.param - 1)
        try:
            made.emq("old", "schema", "upgrade")
            made.emq("old", "schema", "roles")
            conn.execute(TABLES.encode())
            conn.execute("grant emq_producer to web; grant emq_worker to worker")
            conn.execute("grant select, insert on orders, effect to web, worker")
            assert made.watch.one("select version from emq.meta") == made.known
            yield made
        finally:
            made.close()
            conn.close()


def test_old_and_new_workers_side_by_side_while_the_schema_goes_up_lose_nothing_and_meet_no_error(
    deploy: Deploy,
) -> None:
    deploy.worker("old-1-worker", "old")
    deploy.worker("old-2-worker", "old")
    deploy.producer("old-web", "old")
    deploy.more("old", 100)

    assert f"now at {NEWEST}" in deploy.emq("new", "schema", "upgrade")
    deploy.emq("new", "schema", "roles")
    deploy.more("old", 100)  # they go on upon the new schema

    deploy.producer("new-web", "new")
    deploy.worker("new-1-worker", "new")
    deploy.more("new", 100)
    deploy.more("old", 100)  # side by side

    deploy.end("old-1-worker", "old-web")
    deploy.worker("new-2-worker", "new")
    deploy.until("(select count(distinct pid) from effect where release = 'new') = 2")
    deploy.end("old-2-worker")
    deploy.until("(select count(*) from effect) >= %s", JOBS)
    deploy.end("new-web")
    deploy.until("not exists (select from emq.pending union all select from emq.scheduled"
                 " union all select from emq.active)")  # fmt: skip
    deploy.end("new-1-worker", "new-2-worker")

    judge(deploy)


def judge(deploy: Deploy) -> None:
    """Nothing was lost, nothing done twice, no error seen, and no DDL sent but by the owner."""
    one = deploy.watch.one
    assert one("select count(*) from orders") > JOBS / 2
    assert not one(f"select {UNFINISHED}")
    assert one("select count(*) from emq.job") == one("select count(*) from orders")
    assert (
        deploy.watch.rows(
            "select o.job, count(e.job) from orders o left join effect e using (job)"
            " group by o.job having count(e.job) <> 1"
        )
        == []
    )
    assert one("select count(distinct task) from effect") == 4
    assert deploy.watch.rows("select * from emq.misplaced") == []
    for table in ("dead", "refusal"):
        assert deploy.watch.rows(f"select * from emq.{table}") == []
    ends = deploy.watch.rows("select distinct how from emq.attempt")
    assert {end for (end,) in ends} <= {"snoozed", "released"}
    for name in deploy.running:
        if name.endswith("worker"):  # it is of the release that it should be
            known = deploy.known if name.startswith("old") else NEWEST
            assert f"schema emq version {known}" in deploy.said(name)
        assert not re.search(r"Traceback|ERROR|CRITICAL|WARNING", deploy.said(name)), name
    words = sent(deploy)
    assert "do" in words["owner"]  # the log is not blind: the steps are in it
    for role in ("web", "worker"):
        assert {"select", "insert"} <= words[role]
        assert words[role] <= QUERIES | SESSION, role


def sent(deploy: Deploy) -> dict[str, set[str]]:
    """The first word of each statement, by who sent it."""
    log = deploy.server.log.read_text(errors="replace")
    found = FIRST_WORD.findall(log)
    assert len(found) == len(re.findall(SENT, log, re.M))
    words: dict[str, set[str]] = {"web": set(), "worker": set(), "owner": set()}
    for role, word in found:
        words[role].add(word.lower())
    return words


def test_jobs_that_the_release_before_enqueued_are_drained_by_this_one(deploy: Deploy) -> None:
    deploy.producer("old-web", "old")
    deploy.until("(select count(*) from orders) > 60")
    deploy.end("old-web")
    deploy.emq("new", "schema", "upgrade")
    deploy.emq("new", "schema", "roles")
    deploy.worker("new-worker", "new")
    deploy.until(f"not {UNFINISHED}")
    deploy.end("new-worker")
    assert deploy.watch.rows("select distinct release from effect") == [("new",)]
    assert deploy.watch.rows("select * from emq.misplaced") == []


@pytest.mark.parametrize("deploy", [NEWEST], indirect=True)
def test_a_worker_upon_an_older_schema_says_what_to_do_and_changes_nothing(deploy: Deploy) -> None:
    before = deploy.watch.one("select version from emq.meta")
    deploy.worker("early-worker", "new")
    assert deploy.running["early-worker"].wait(60) == 1
    said = deploy.said("early-worker")
    assert "EMQ302" in said and "emq schema upgrade" in said and "Traceback" not in said
    assert deploy.watch.one("select version from emq.meta") == before
    assert sent(deploy)["worker"] <= QUERIES | SESSION


@pytest.mark.parametrize("deploy", [NEWEST], indirect=True)
@pytest.mark.parametrize("role", ["web", "worker"])
def test_the_roles_of_workers_and_applications_could_run_no_ddl(deploy: Deploy, role: str) -> None:
    deploy.emq("new", "schema", "upgrade")
    deploy.emq("new", "schema", "roles")
    with psycopg.connect(make_conninfo(deploy.dsn, user=role), autocommit=True) as conn:
        for statement in (
            "create table emq.mine (x int)", "create table public.mine (x int)",
            "create schema mine", "alter table emq.job add column x int", "drop table emq.inbox",
            "create or replace function emq.ledger_id() returns uuid language sql as 'select null'",
            "create index on emq.active (worker)", "truncate emq.pending",
            steps.render(steps.all_steps()[-1], "down"),
        ):  # fmt: skip
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute(statement.encode())
    assert deploy.watch.one("select version from emq.meta") == NEWEST
    owned = "select count(*) from pg_class where relowner = %s::regrole"
    assert deploy.watch.one(owned, role) == 0
