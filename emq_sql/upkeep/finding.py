"""One thing that the doctor has looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warn", "bad"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: how it is, and what to do when it is not well."""

    subject: str
    state: State
    found: str
    advice: str = ""
