"""One thing that the doctor has looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import psycopg

from emq_sql.errors import Refused

State = Literal["ok", "warn", "bad"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: how it is, and what to do when it is not well."""

    subject: str
    state: State
    found: str
    advice: str = ""


def allowed(subject: str, look: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """What is found; or, where this role may not look at all of that, one finding that says so."""
    try:
        found = list(look())
    except Refused as error:
        if not isinstance(error.__cause__, psycopg.errors.InsufficientPrivilege):
            raise
        advice = "Ask as emq_operator, or as the owner of the ledger."
        found = [Finding(subject, "warn", "not to be seen by this role", advice)]
    yield from found
