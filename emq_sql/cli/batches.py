"""Work in batches, as an operator watches it: each is committed, and Ctrl-C ends between two."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from types import TracebackType
from typing import Self

import click

from emq_sql.cli.stopping import stoppable
from emq_sql.errors import EmqError


class Batches:
    """Counts what is done, and says so on standard error while that is a terminal.

    The first Ctrl-C lets the batch under way come to its end, if that does not take long; a second
    one breaks it off, which takes it back. `stopped` says whether there was one. Broken off, or by
    trouble, it says how far it came.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._shown = False
        self._lively = sys.stderr.isatty()
        self._open = ExitStack()
        self.done = 0

    @property
    def stopped(self) -> bool:
        """True from the first Ctrl-C on."""
        return self._stop.asked

    def add(self, count: int) -> None:
        """So many more."""
        self.done += count
        if self._lively:
            click.echo(f"\r{self._what}: {self.done}", err=True, nl=False)
            self._shown = True

    def __enter__(self) -> Self:
        self._stop = self._open.enter_context(stoppable())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self._open.close()
        if self._shown:
            click.echo("", err=True)
        if self.done and isinstance(error, (EmqError, KeyboardInterrupt)):
            click.echo(f"{self._what}: {self.done:,} before this.", err=True)
