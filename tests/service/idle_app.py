"""An application with one task, for workers that are refused before they run it."""

from __future__ import annotations

from emq_sql import EMQ

emq = EMQ()


@emq.task
def says(text: str) -> None:
    """Nothing."""
