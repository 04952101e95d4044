"""flask emq worker, and the other commands, for real: processes with FLASK_APP."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from flask import Flask

from tests.integrations.flask.conftest import Shops, column, uri
from tests.integrations.flask.shop import invoice, thank
from tests.plugins.databases import Database

ROOT = Path(__file__).parents[3]
SHOP = "tests.integrations.flask.shop:create_app"


def flask(db: Database, *words: str, name: str = "one") -> subprocess.CompletedProcess[str]:
    """`flask --app ... emq` as a process of its own, with the application's settings alone."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("EMQ_")}
    return subprocess.run(
        [sys.executable, "-m", "flask", "--app", SHOP, "emq", *words],
        cwd=ROOT, env=env | {"SHOP_DSN": uri(db), "SHOP_NAME": name}, text=True,
        capture_output=True, timeout=120, check=False,
    )  # fmt: skip


def worker(db: Database, *words: str, name: str = "one") -> None:
    """A burst of a worker."""
    ran = flask(db, "worker", "-q", "mail", "--burst", "--poll", "0.05", *words, name=name)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("how", [[], ["--processes", "2"]], ids=["threads", "processes"])
def test_a_worker_runs_each_job_in_a_context_of_the_application_and_ends_its_session(
    how: list[str], shop: Flask, db: Database
) -> None:
    with shop.app_context():
        jobs = [invoice.enqueue(order=n) for n in (1, 2, 3)]
        jobs.append(thank.enqueue(order=4))
        worker(db, *how)
        results = [shop.extensions["emq"].result(job.id)["result"] for job in jobs]
    assert results == ["one", "one", "one", "one 4"]
    # What a run left open in its scoped session is neither committed by the next one nor kept.
    assert column(db, "select n from invoice order by n") == [1, 2, 3]
    assert column(db, "select status from emq.archive") == ["completed"] * 4


def test_workers_of_two_applications_run_each_its_own_jobs(
    db: Database, other_db: Database, open_shop: Shops
) -> None:
    shops = {"one": (open_shop(db), db), "two": (open_shop(other_db), other_db)}
    for app, _ in shops.values():
        with app.app_context():
            invoice.enqueue(order=1)
    for name, (_, database) in shops.items():
        worker(database, name=name)
        assert column(database, "select app from invoice") == [name]


def test_the_commands_of_emq_find_the_applications_ledger(shop: Flask, db: Database) -> None:
    with shop.app_context():
        invoice.enqueue(order=1)
    queues = flask(db, "queues")
    assert "mail" in queues.stdout, queues.stderr
    for words in (
        ["ledger"],
        ["dead", "list"],
        ["schema", "current"],
        ["--patience", "5", "doctor"],
    ):
        ran = flask(db, *words)
        assert "No database is set" not in ran.stderr
        assert "Traceback" not in ran.stderr
        assert ran.returncode == 0, (words, ran.stderr, ran.stdout)


def test_schema_upgrade_makes_the_ledger_of_the_applications_database(empty_db: Database) -> None:
    assert flask(empty_db, "schema", "upgrade").returncode == 0
    assert column(empty_db, "select count(*) from emq.queue") == [0]


def test_commands_run_in_a_test_of_the_application_and_leave_the_environment_as_it_was(
    shop: Flask, open_shop: Shops, other_db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = open_shop(other_db, SHOP="two")
    with two.app_context():
        invoice.enqueue(order=1)
    monkeypatch.setenv("EMQ_DSN", "host=nowhere")
    assert "mail" not in shop.test_cli_runner().invoke(args=["emq", "queues"]).output
    assert "mail" in two.test_cli_runner().invoke(args=["emq", "queues"]).output
    assert os.environ["EMQ_DSN"] == "host=nowhere"


def test_an_application_that_was_not_given_an_emq_has_no_such_commands() -> None:
    ran = Flask("bare").test_cli_runner().invoke(args=["emq", "queues"])
    assert ran.exit_code == 2
