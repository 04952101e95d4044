"""The example of a FastAPI service passes its own tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.plugins.databases import Database

SERVICE = Path(__file__).parents[2] / "docs" / "examples" / "fastapi_service"


def test_the_fastapi_service_passes_its_own_tests(db: Database) -> None:
    db.connect().execute("create table orders (n int, confirmed boolean)")
    env = {key: value for key, value in os.environ.items() if not key.startswith("EMQ_")}
    env["SERVICE_DATABASE"] = db.dsn.replace("postgresql:", "postgresql+psycopg:", 1)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".",
         "-c", os.devnull, "test_service.py"],
        cwd=SERVICE, env=env, text=True, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 passed" in ran.stdout
