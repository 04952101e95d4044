"""The command in the hands of the four roles: what a role may not see is told as that."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from emq_sql.minting import new_id
from emq_sql.protocol import steps
from tests.cli.conftest import Emq
from tests.plugins.databases import Database

HIDDEN = {
    "operator": set[str](),
    "reader": {"places", "home"},
}


@pytest.fixture
def acting(db: Database) -> Iterator[Callable[[str], Emq]]:
    """The command as one of the roles, which are this database's alone."""
    prefix = f"emq_{secrets.token_hex(6)}"
    conn = db.connect()
    conn.execute(steps.roles_script(prefix=prefix).encode())
    yield lambda role: Emq(f"{db.dsn}&options=-crole%3D{prefix}_{role}")
    for role in ("producer", "worker", "operator", "reader"):
        conn.execute(f"drop owned by {prefix}_{role}; drop role {prefix}_{role}".encode())


@pytest.mark.parametrize("role", HIDDEN)
def test_the_doctor_finds_what_the_role_may_see_and_says_what_it_may_not(
    acting: Callable[[str], Emq], role: str
) -> None:
    told = acting(role)("doctor", "--json").json
    found = {one["subject"]: one["found"] for one in told}
    hidden = {subject for subject, said in found.items() if "not to be seen" in said}
    assert hidden == HIDDEN[role]
    assert {"server", "schema", "ledger", "archive", "retention", "last reap"} <= set(found)


def test_a_reader_sees_where_a_job_is_and_that_its_story_is_not_for_it(
    db: Database, acting: Callable[[str], Emq]
) -> None:
    job = str(new_id())
    db.connect().execute("select emq.enqueue('default', 'tidy', '{}', %s)", [job])
    said = acting("reader")("job", job)
    assert said.lines[0].split() == ["id", job]
    assert "pending" in said.out and "emq_operator" in said.err


def test_an_import_without_a_right_says_which_one_it_needs(
    db: Database, acting: Callable[[str], Emq], tmp_path: Path
) -> None:
    conn = db.connect()
    day = (datetime.now(UTC) - timedelta(days=2)).date()
    conn.execute("select emq.archive_days(0, %s)", [day])
    assert acting("operator")("archive", "export", "--to", str(tmp_path)).code == 0
    conn.execute("revoke create on schema public from public")
    said = acting("operator")(
        "archive", "import", str(tmp_path / day.isoformat()), "--into", "public.back"
    ).refused(1)
    assert "CREATE on the table's schema" in said and "emq schema roles" not in said
