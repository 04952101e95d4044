"""The page about unique keys, run as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.plugins.databases import Database

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "unique-jobs.md"


def block(language: str) -> str:
    (found,) = re.findall(
        rf"<!-- run by tests/docs -->\n```{language}\n(.*?)```", PAGE.read_text(), re.S
    )
    return str(found)


def test_the_page_runs_and_its_key_can_be_looked_at_and_released(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMQ_DSN", db.dsn)
    space: dict[str, object] = {}
    exec(block("python"), space)
    conn = db.connect()
    look, let_go = block("sql").strip().splitlines()
    held = conn.execute(look.encode()).fetchone()
    assert held is not None
    assert held[1:] == ("unfinished", None, True)
    assert conn.execute(let_go.encode()).fetchone() == (held[0],)
    assert conn.execute(look.encode()).fetchone() is None
    welcome = space["welcome"]
    assert welcome.enqueue(customer=42).status == "enqueued"  # type: ignore[attr-defined]
