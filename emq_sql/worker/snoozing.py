"""A run that ends for now."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Snoozed:
    """Not now: the job waits, at no cost."""

    delay: timedelta
