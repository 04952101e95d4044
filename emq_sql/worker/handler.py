"""What a worker knows of a task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from emq_sql.rules.backoff import Policy


@dataclass(frozen=True, slots=True)
class Handler:
    """A registered function and how its runs are judged; `None` means the usual."""

    task: str
    function: Callable[..., Any]
    takes_context: bool = False
    timeout: timedelta | None = None
    backoff: Policy | None = None
