"""An application whose tasks are the programs of a directory: for judging the Python worker."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from emq_sql import EMQ
from emq_sql.worker.context import Job

emq = EMQ(environment=os.environ.get("EMQ_ENVIRONMENT") or None)

TASKS = Path(os.environ.get("EMQ_TASKS", os.devnull))


def _run(job: Job, *args: Any, **named: Any) -> None:
    """The program of this task, with the payload on its standard input."""
    payload = named | ({"*": list(args)} if args else {})
    done = subprocess.run(
        [TASKS / job.task], input=json.dumps(payload), text=True, encoding="utf-8", check=False,
        env={**os.environ, "EMQ_JOB_ID": str(job.id)}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(done.stdout.strip().rpartition("\n")[2] or str(done.returncode))


for program in sorted(TASKS.iterdir()) if TASKS.is_dir() else ():
    emq.task(_run, name=program.name, takes_context=True)
