"""The sixty-second start of the README, run as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from tests.plugins.databases import Database

README = Path(__file__).parents[2] / "README.md"

BILLING_NEEDS = """
import os
import sqlalchemy as sa
from sqlalchemy import insert
from sqlalchemy.orm import Session
from shop.jobs import emq

engine = sa.create_engine(os.environ["ENGINE_URL"])
charges = sa.table("charges", sa.column("order_id"), sa.column("amount"))

"""


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def block(beginning: str) -> str:
    (found,) = [text for text in blocks() if text.startswith(beginning)]
    return found


def test_the_start_in_the_readme_works_as_it_is_written(
    db: Database, tmp_path: Path, monkeypatch: Any
) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "__init__.py").touch()
    (shop / "jobs.py").write_text(block("# shop/jobs.py"))
    (shop / "billing.py").write_text(BILLING_NEEDS + block("# shop/billing.py"))
    url = db.dsn.replace("postgresql://", "postgresql+psycopg://", 1)
    environment = {**os.environ, "EMQ_DSN": db.dsn, "ENGINE_URL": url}
    engine = sa.create_engine(url)
    Base.metadata.create_all(engine)
    with db.connect() as conn:
        conn.execute("create table charges (order_id bigint, amount int)")

    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("EMQ_DSN", db.dsn)
    monkeypatch.setenv("ENGINE_URL", url)
    jobs = __import__("shop.jobs").jobs
    billing = __import__("shop.billing").billing
    order = Order()
    enqueueing = block("with Session(engine)")
    exec(enqueueing, {"Session": Session, "engine": engine, "order": order, **vars(jobs)})
    billing.charge.enqueue(order_id=7)

    for app, queue in (("shop.jobs:emq", "mail"), ("shop.billing:emq", "billing")):
        worked = subprocess.run(
            [sys.executable, "-m", "emq_sql", "worker", "--app", app, "-q", queue, "--burst"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert worked.returncode == 0, worked.stderr
    with db.connect() as conn:
        results = conn.execute("select queue, status, result from emq.archive order by queue")
        assert results.fetchall() == [
            ("billing", "completed", None),
            ("mail", "completed", "receipt for order 1"),
        ]
        assert conn.execute("select * from charges").fetchall() == [(7, 100)]
    engine.dispose()
    billing.engine.dispose()
    for module in ("shop", "shop.jobs", "shop.billing"):
        sys.modules.pop(module, None)
