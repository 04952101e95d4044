"""The application in the guide to Flask, run as it stands on its page."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.plugins.databases import Database

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "flask.md"
MODELS = """
from flask_sqlalchemy import SQLAlchemy

db = SQLAlchemy()

class Order(db.Model):
    id = db.Column(db.Integer, primary_key=True)
    confirmed = db.Column(db.Boolean)
"""


def run_by_us(language: str) -> list[str]:
    marked = rf"<!-- run by tests/docs -->\n```{language}\n(.*?)```"
    return re.findall(marked, PAGE.read_text(), re.DOTALL)


def test_the_shop_of_the_page_confirms_an_order_of_a_request(
    empty_db: Database, tmp_path: Path
) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "models.py").write_text(MODELS)
    files = run_by_us("python")
    for text in files:
        first = re.match(r"# (\S+)\n", text)
        assert first is not None
        (tmp_path / first[1]).write_text(text)
    env = {key: value for key, value in os.environ.items() if not key.startswith("EMQ_")}
    env["SHOP_DATABASE"] = empty_db.dsn.replace("postgresql:", "postgresql+psycopg:", 1)

    def run(*words: str) -> None:
        ran = subprocess.run([sys.executable, *words], cwd=tmp_path, env=env, text=True,
                             capture_output=True, timeout=120, check=False)  # fmt: skip
        assert ran.returncode == 0, ran.stderr

    (commands,) = run_by_us("")
    upgrade, worker = (shlex.split(line) for line in commands.splitlines())
    run("-m", *upgrade)
    sell = (
        "from shop import create_app, db\n"
        "app = create_app()\n"
        "with app.app_context():\n"
        "    db.create_all()\n"
        "assert app.test_client().post('/orders').json == {'order': 1}\n"
    )
    run("-c", sell)
    run("-m", *worker, "--burst")
    rows = empty_db.connect().execute('select id, confirmed from "order"').fetchall()
    assert rows == [(1, True)]
