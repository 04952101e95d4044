"""Records name their job, on one line each that nobody else can forge; the first one says what
started.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emq_sql.cli import logs
from emq_sql.errors import BadSetting
from tests.service.conftest import Place

FIELDS = {"job_id", "task", "queue", "attempts", "worker"}
FORGED = "x\n2026-11-29 12:00:00,000 ERROR emq_sql.service forged\r\x1b[2J\u2028forged"
BEGINS = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (DEBUG|INFO|WARNING|ERROR) [\w.]+ ")
ID = re.compile(r"job ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
UNKNOWN = "select emq.enqueue('default', %s, '{}')"


def enqueue_all(place: Place) -> None:
    place.enqueue("says", text=FORGED)
    place.enqueue("says_on_the_loop", text=FORGED)
    place.enqueue("fails", text=FORGED)
    place.rows(UNKNOWN, FORGED)


@pytest.mark.parametrize("kind", ["--concurrency", "--processes"])
def test_nothing_from_outside_forges_a_line_of_the_log(place: Place, kind: str) -> None:
    enqueue_all(place)
    worker = place.start(kind, "1", "--burst")
    assert worker.wait() == 0
    said = worker.log.read_bytes()
    assert b"\r" not in said and b"\x1b" not in said and b"\xe2\x80\xa8" not in said
    records = [line for line in said.decode().split("\n")[:-1] if not line.startswith("    ")]
    assert all(BEGINS.match(line) for line in records), records
    assert not [line for line in records if BEGINS.sub("", line).startswith("forged")]
    assert said.count(b"forged") >= 8, "it was all said, and took nobody in"
    for what in ("says x", "failed and waits", "knows no task"):
        assert what in worker.said()


@pytest.mark.parametrize("kind", ["--concurrency", "--processes"])
def test_each_record_about_a_job_carries_its_fields(place: Place, kind: str) -> None:
    enqueue_all(place)
    worker = place.start(kind, "1", "--burst", "--log-format", "json")
    assert worker.wait() == 0
    records = [json.loads(line) for line in worker.said().splitlines()]
    for record in records:
        named = ID.search(record["message"])
        if named is not None:
            assert set(record) >= FIELDS, record
            assert record["job_id"] == named[1]
    mine = [record for record in records if record["logger"] == "shop.mail"]
    assert [record["task"] for record in mine] == ["says", "says_on_the_loop"]
    (name,) = {record["worker"] for record in records}
    known = {str(id): task for id, task in place.rows("select id, task from emq.job")}
    for record in mine:
        assert set(record) >= FIELDS
        assert known[record["job_id"]] == record["task"]
        assert (record["attempts"], record["queue"]) == (1, "default")
        assert record["worker"] == name


@pytest.mark.parametrize("kind", ["--concurrency", "--processes"])
def test_a_field_that_a_handler_gives_itself_stays_and_costs_no_other(
    place: Place, kind: str
) -> None:
    place.enqueue("says_of_another", text="hello")
    worker = place.start(kind, "1", "--burst", "--log-format", "json")
    assert worker.wait() == 0
    records = [json.loads(line) for line in worker.said().splitlines()]
    (mine,) = (record for record in records if record["logger"] == "shop.mail")
    assert set(mine) >= FIELDS
    assert mine["job_id"] == "print job 7"
    assert (mine["task"], mine["queue"], mine["attempts"]) == ("says_of_another", "default", 1)


def test_the_first_line_says_what_was_started(place: Place) -> None:
    worker = place.started("--grace", "7", "--lease", "20", "--queues", "mail,default")
    (line,) = (line for line in worker.said().splitlines() if "emq_sql.service emq_sql" in line)
    ((server, version),) = place.rows(
        "select current_setting('server_version'), (select version from emq.meta)"
    )
    for part in (
        f"Python {sys.version_info.major}.{sys.version_info.minor}.",
        f"psycopg {psycopg.__version__}, libpq ",
        f"PostgreSQL {server}, schema emq version {version};",
        "queues mail,default, 4 slots (threads and an event loop), at most 4 connections",
        "poll 0.1 s, grace 7 s, lease 20 s, bell heard",
    ):
        assert part in line, line


@pytest.mark.parametrize("suffix", ["json", "toml"])
def test_logging_can_be_configured_by_a_file(place: Place, suffix: str) -> None:
    out, file = place.folder / "out.log", place.folder / f"logging.{suffix}"
    file.write_text(CONFIG[suffix].replace("OUT", str(out)))
    (job,) = place.enqueue("says", text="hello")
    worker = place.start("--burst", "--log-config", str(file))
    assert worker.wait() == 0
    assert worker.said() == ""
    told = [json.loads(line) for line in out.read_text().splitlines()]
    assert [r["job_id"] for r in told if r["message"] == "says hello"] == [str(job)]
    assert any(r["message"].startswith("emq_sql ") for r in told)


CONFIG: dict[str, Any] = {
    "json": json.dumps(
        {
            "version": 1,
            "formatters": {"j": {"()": "pythonjsonlogger.json.JsonFormatter"}},
            "handlers": {
                "f": {"class": "logging.FileHandler", "filename": "OUT", "formatter": "j"}
            },
            "root": {"level": "INFO", "handlers": ["f"]},
        }
    ),
    "toml": """
        version = 1
        root = { level = "INFO", handlers = ["f"] }
        [formatters.j]
        "()" = "pythonjsonlogger.json.JsonFormatter"
        [handlers.f]
        class = "logging.FileHandler"
        filename = "OUT"
        formatter = "j"
    """,
}


def test_an_application_that_configures_logging_does_not_silence_the_worker(place: Place) -> None:
    place.enqueue("says", text="hello")
    worker = place.start("--burst", AN_APP_LOGGING=json.dumps(OF_THE_APP))
    assert worker.wait() == 0
    assert re.search(r"^\[default 1\] says hello$", worker.said(), re.MULTILINE)
    assert "has ended, exit code 0" in worker.said()


# As a careless application does it: all loggers that are there already are disabled.
OF_THE_APP = {
    "version": 1,
    "formatters": {
        "f": {
            "format": "[%(queue)s %(attempts)s] %(message)s",
            "()": "logging.Formatter",
            "defaults": {"queue": "", "attempts": ""},
        }
    },
    "handlers": {"h": {"class": "logging.StreamHandler", "formatter": "f"}},
    "root": {"level": "INFO", "handlers": ["h"]},
}


def test_json_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pythonjsonlogger.json", None)  # as if it were not there
    with pytest.raises(BadSetting, match=r'pip install "emq-sql\[logs\]"'):
        logs.set_up("info", "json", None)


@given(st.text(), st.text())
def test_a_record_begins_at_the_start_of_a_line_and_nothing_else_does(
    message: str, error: str
) -> None:
    try:
        raise ValueError(error)
    except ValueError:
        info = sys.exc_info()
    record = logging.LogRecord("shop", logging.ERROR, "", 1, "%s", (message,), info)
    first, *others = logs.TextFormatter().format(record).split("\n")
    assert BEGINS.match(first)
    assert all(line.startswith("    ") for line in others)
    assert all(line.isprintable() for line in (first, *others))


def test_a_job_is_named_once(tmp_path: Path) -> None:
    fields = {"job_id": "0198", "task": "mail", "attempts": 2}
    for message, said in (
        ("sent", "sent [job 0198 (mail, attempt 2)]"),
        ("job 0198 is done", "job 0198 is done"),
    ):
        record = logging.makeLogRecord(
            {"name": "shop", "levelname": "INFO", "msg": message, **fields}
        )
        assert logs.TextFormatter().format(record).endswith(f"INFO shop {said}")
