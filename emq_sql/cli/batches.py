"""Work in batches, as an operator watches it: each is committed, and Ctrl-C ends between two."""

from __future__ import annotations

import signal
import sys
from types import FrameType, TracebackType
from typing import Self

import click


class Batches:
    """Counts what is done, and says so on standard error while that is a terminal.

    The first Ctrl-C lets the batch under way come to its end; a second one breaks it off, which
    takes it back. `stopped` says whether there was one.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._shown = False
        self._lively = sys.stderr.isatty()
        self.done = 0
        self.stopped = False

    def add(self, count: int) -> None:
        """So many more."""
        self.done += count
        if self._lively:
            click.echo(f"\r{self._what}: {self.done}", err=True, nl=False)
            self._shown = True

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._stop)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        signal.signal(signal.SIGINT, self._before)
        if self._shown:
            click.echo("", err=True)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        if self.stopped:
            raise KeyboardInterrupt
        self.stopped = True
