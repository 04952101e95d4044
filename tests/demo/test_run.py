"""A whole run over odd files: what it says is what the database and the disk say."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any

import psycopg
import pytest

from emq_sql.demo.paths import written
from emq_sql.demo.place import IN_A_GIVEN_DATABASE, place
from emq_sql.errors import BadSetting
from tests.demo.conftest import ODD_FILES, PYTHON, Ran
from tests.demo.processes import demo, figure, said
from tests.plugins.databases import Database

pytestmark = pytest.mark.faults


def one(ran: Ran, query: str, *params: object) -> Any:
    with ran.connect() as conn:
        row = conn.execute(query.encode(), params).fetchone()
        assert row is not None
        return row[0]


def measured(ran: Ran, name: bytes) -> dict[str, Any]:
    path = written(str(ran.root / os.fsdecode(name)))
    with ran.connect() as conn:
        cursor = psycopg.Cursor(conn, row_factory=psycopg.rows.dict_row)
        rows = cursor.execute(
            "select * from emq_demo_files.result where path = %s", [path]
        ).fetchall()
    assert len(rows) == 1, (name, rows)
    return rows[0]


def test_the_account_of_a_run_balances(ran: Ran) -> None:
    assert ran.code == 0, ran.text
    assert "The account balances." in ran.text
    assert "DOES NOT BALANCE" not in ran.text


def test_every_regular_file_has_a_row_and_a_job_and_nothing_else_has(ran: Ran) -> None:
    with ran.connect() as conn:
        paths = {
            row[0]
            for row in conn.execute(
                "select f.path from emq_demo_files.file f join emq_demo.job j on j.id = f.job_id"
            )
        }
    assert paths == {written(str(ran.root / os.fsdecode(name))) for name in ODD_FILES}
    assert one(ran, "select count(*) from emq_demo.job") == len(ODD_FILES)


@pytest.mark.parametrize("name", sorted(set(ODD_FILES) - {b"forbidden"}))
def test_each_file_is_measured_as_it_is(ran: Ran, name: bytes) -> None:
    row, content = measured(ran, name), ODD_FILES[name]
    assert row["sha256"] == hashlib.sha256(content).hexdigest()
    assert row["size"] == len(content)
    assert row["lines"] == content.count(b"\n") + (content[-1:] not in {b"", b"\n"})


def test_definitions_are_counted_and_broken_sources_are_an_answer(ran: Ran) -> None:
    plain = measured(ran, b"plain.py")
    assert (plain["functions"], plain["classes"], plain["error"]) == (2, 1, None)
    assert measured(ran, b"deep/er/still.py")["classes"] == PYTHON.count(b"class") * 20
    assert measured(ran, b"plain.txt")["functions"] is None
    for broken in (b"broken.py", b"nul.py"):
        row = measured(ran, broken)
        assert row["functions"] is None
        assert "Error" in row["error"]


def test_a_file_that_cannot_be_read_is_a_row_with_an_error(ran: Ran) -> None:
    row = measured(ran, b"forbidden")
    if os.geteuid() == 0:  # root reads it all the same
        assert row["error"] is None
    else:
        assert row["error"].startswith("PermissionError")
        assert row["sha256"] is None


def test_the_figures_are_those_of_the_database(ran: Ran) -> None:
    for name, query in {
        "files": "select count(*) from emq_demo_files.file",
        "enqueued": "select count(*) from emq_demo.job",
        "completed": "select count(*) from emq_demo.archive where status = 'completed'",
        "redelivered": "select count(*) from emq_demo.archive where attempts > 1",
        "refused late completions": "select count(*) from (select distinct id, fence"
        " from emq_demo.refusal where verb = 'complete') r",
        "in more than one place": "select count(*) from emq_demo.misplaced",
        "dead letters": "select count(*) from emq_demo.dead",
    }.items():
        assert int(figure(ran.text, name)) == one(ran, query), name


def test_the_killed_and_the_frozen_lost_their_leases_and_others_finished_the_jobs(ran: Ran) -> None:
    killed = re.findall(r"kill -9 of worker \d+ \(pid (\d+)\) with", ran.text)
    frozen = re.findall(r"SIGSTOP for worker \d+ \(pid (\d+)\)", ran.text)[-1]
    assert len(killed) == 2
    for pid in (*killed, frozen):
        stalled = (
            "from emq_demo.attempt t where how = 'stalled' and split_part(worker, ':', 2) = %s"
        )
        assert one(ran, f"select count(*) {stalled}", pid) > 0
        finished = "exists (select from emq_demo.archive r where r.id = t.id and r.fence > t.fence)"
        assert one(ran, f"select bool_and({finished}) {stalled}", pid) is True


def test_a_refused_completion_left_no_result(ran: Ran) -> None:
    assert one(ran, "select count(*) from emq_demo.refusal where verb = 'complete'") > 0
    assert (
        one(
            ran,
            "select count(*) from emq_demo_files.result m"
            " join emq_demo.refusal r on r.id = m.job_id and r.fence = m.fence",
        )
        == 0
    )


def test_control_characters_of_a_name_do_not_reach_the_terminal(ran: Ran) -> None:
    assert "\x1b" not in ran.text


def test_the_way_to_look_around_is_told(ran: Ran) -> None:
    assert "export EMQ_SCHEMA=emq_demo EMQ_DSN=..." in ran.text
    assert ran.database.dsn not in ran.text, "it may hold a password"
    job = ran.text.partition("emq job ")[2].split()[0]
    assert one(ran, "select attempts from emq_demo.archive where id = %s", job) == one(
        ran, "select max(attempts) from emq_demo.archive"
    )


def test_a_demo_that_is_there_already_is_left_alone(ran: Ran, tmp_path: Path) -> None:
    with demo(tmp_path, ran.root, "--dsn", ran.database.dsn) as process:
        assert process.wait() == 2
    assert "--reset" in said(tmp_path)
    assert one(ran, "select count(*) from emq_demo_files.file") == len(ODD_FILES)


def test_reset_drops_what_a_demo_made_and_nothing_else(empty_db: Database) -> None:
    def there() -> list[tuple[str]]:
        return empty_db.connect().execute(
            "select nspname from pg_namespace where nspname like 'emq%' order by 1"
        ).fetchall()  # fmt: skip

    def run(*, reset: bool, keep: bool = True) -> None:
        with place(empty_db.dsn, keep=keep, data=None, reset=reset) as where:
            assert where.schemas == IN_A_GIVEN_DATABASE

    run(reset=False)
    with pytest.raises(BadSetting, match="earlier demo"):
        run(reset=False)
    run(reset=True, keep=False)
    assert there() == []
    empty_db.connect().execute("create schema emq_demo")
    with pytest.raises(BadSetting, match="did not make"):
        run(reset=True)
    assert there() == [("emq_demo",)]
