"""The task; Django finds it by the path of its module."""

from __future__ import annotations

import tally
from django.tasks import task


@task()
def noop(n: int, pad: str) -> None:
    tally.ran(n)
