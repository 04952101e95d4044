"""pgbench, which every PostgreSQL brings: many sessions that repeat a script, in little CPU."""

from __future__ import annotations

import re
import shutil
import subprocess

from bench.compare.catalogue import Failed
from bench.suite.stage import Base, Stage


def repeated(stage: Stage, base: Base, script: str, clients: int, seconds: float) -> int:
    """How many times `clients` sessions ran the script meanwhile; whole seconds, one at least."""
    program = base.server.bindir / "pgbench"
    found = str(program) if program.is_file() else shutil.which("pgbench")
    if found is None:
        raise Failed("there is no pgbench (Debian: apt-get install postgresql-client)")
    file = stage.new_folder() / "script.sql"
    file.write_text(script)
    done = subprocess.run(
        [found, "-n", "-M", "prepared", "-c", str(clients), "-j", "2",
         "-T", str(max(1, round(seconds))), "-f", str(file), base.dsn],
        capture_output=True, text=True, check=False, timeout=stage.left(),
    )  # fmt: skip
    ran = re.search(r"actually processed: (\d+)", done.stdout)
    if done.returncode != 0 or ran is None:
        raise Failed(f"pgbench: {done.stderr[-1000:]}")
    return int(ran[1])
