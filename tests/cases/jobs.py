"""The tasks of these tests, beside those of `tests.faults.jobs`."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

from emq_sql.errors import Permanent
from emq_sql.rules.backoff import Backoff
from emq_sql.worker.context import Job
from emq_sql.worker.handler import Handler

NOMINAL = 600.0  # seconds: what the curves below say for a first failure
MINIMUM = 30.0
CURVES = {
    "exponential": Backoff.exponential(NOMINAL, minimum=MINIMUM),
    "linear": Backoff.linear(NOMINAL, minimum=MINIMUM),
    "constant": Backoff.constant(NOMINAL, minimum=MINIMUM),
    "custom": Backoff.custom(lambda failures: NOMINAL - failures),
    "without_jitter": Backoff.exponential(NOMINAL, jitter=False),
}


def breaks() -> None:
    """Raises, always."""
    raise ConnectionError("the other side is away")


def quick() -> None:
    """Returns at once."""


def short(seconds: float) -> None:
    """A little work."""
    time.sleep(seconds)


def witness(job: Job, file: str) -> None:
    """Needs no database: waits until it is told to stop, and leaves a file that says so."""
    Path(f"{file}.started.{job.attempts}").touch()
    if job.attempts == 1:
        job.wait_cancelled(300)
        Path(f"{file}.told").touch()


def hopeless() -> None:
    """Says that another try cannot help."""
    raise Permanent("there is no such customer")


def second_time(job: Job) -> None:
    """Fails at first, as if something were away that comes back."""
    if job.attempts == 1:
        raise ConnectionError("the other side is away")


HANDLERS = {
    "hopeless": Handler("hopeless", hopeless),
    "second_time": Handler("second_time", second_time, takes_context=True),
    "quick": Handler("quick", quick),
    "short": Handler("short", short),
    "witness": Handler("witness", witness, takes_context=True, timeout=timedelta(minutes=5)),
} | {
    f"breaks_{name}": Handler(f"breaks_{name}", breaks, backoff=curve)
    for name, curve in CURVES.items()
}
