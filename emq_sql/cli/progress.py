"""How far a long command is, on standard error: a bar where it can be drawn, else lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

EVERY = 1.0  # seconds between two lines

Show = Callable[[int], None]


@contextmanager
def progress(what: str, total: int) -> Iterator[Show]:
    """Call what is given with how many are done, as often as you like.

    A bar is drawn on a terminal if `rich` is installed; else there is a line each second.
    """
    if sys.stderr.isatty():
        try:
            from rich.console import Console  # noqa: PLC0415  an extra, needed only here
            from rich.progress import Progress  # noqa: PLC0415
        except ImportError:
            pass
        else:
            with Progress(console=Console(stderr=True), transient=True) as bar:
                task = bar.add_task(what, total=total)
                yield lambda done: bar.update(task, completed=done)
            return
    next_line = time.monotonic() + EVERY

    def line(done: int) -> None:
        nonlocal next_line
        if time.monotonic() >= next_line:
            click.echo(f"{what}: {done:,} of {total:,}", err=True)
            next_line = time.monotonic() + EVERY

    yield line
