"""How a run shows itself: plain lines here, a live table in `live`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol, Self

from emq_sql.demo.paths import shown
from emq_sql.demo.scene import Flight, Progress

EVERY = 1.0
_LISTED = 4


class Screen(AbstractContextManager["Screen"], Protocol):
    """What a run needs of a screen."""

    def say(self, text: str) -> None:
        """Something happened."""

    def show(self, total: int, progress: Progress, flights: Sequence[Flight]) -> None:
        """How far it is and what is in flight now; may be called many times a second."""


class Plain:
    """A line for each event, and at most one a second for the in-flight list."""

    def __init__(self, write: Callable[[str], None], *, quiet: bool = False) -> None:
        self._write = write
        self._quiet = quiet
        self._began = time.monotonic()
        self._next = 0.0

    def say(self, text: str) -> None:
        if not self._quiet:
            self._write(f"{self._stamp()}  {text}")

    def show(self, total: int, progress: Progress, flights: Sequence[Flight]) -> None:
        if self._quiet or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + EVERY
        listed = ", ".join(brief(flight) for flight in flights[:_LISTED])
        more = f", {len(flights) - _LISTED} more" if len(flights) > _LISTED else ""
        self._write(
            f"{self._stamp()}  {progress.done:,} of {total:,} done, {progress.waiting:,} wait,"
            f" {len(flights)} in flight{': ' if listed else ''}{listed}{more}"
        )

    def _stamp(self) -> str:
        return f"{time.monotonic() - self._began:5.1f} s"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        return None


def screen_for(write: Callable[[str], None], *, quiet: bool) -> Screen:
    """A live table on a terminal if `rich` is installed, else plain lines."""
    if quiet or not sys.stdout.isatty():
        return Plain(write, quiet=quiet)
    try:
        from emq_sql.demo.live import Live  # noqa: PLC0415  an extra, needed only here
    except ImportError:
        return Plain(write)
    return Live()


def holder(flight: Flight) -> str:
    """Who holds it, in a few letters."""
    if flight.member is None:
        return "a stranger"
    return f"{'' if flight.alive else 'dead '}worker {flight.member.number}"


def brief(flight: Flight) -> str:
    """One job of the in-flight list in a few words."""
    name = shown(flight.path.rpartition("/")[2], 24)
    return f"{name} ({holder(flight)}, {flight.left:.1f} s left)"
