"""The live screen: progress, what happened, and the in-flight list as it is now."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live as RichLive
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from emq_sql.demo.paths import shown
from emq_sql.demo.scene import Flight, Progress
from emq_sql.demo.screen import holder

_ROWS = 16


class Live:
    """Events scroll by above a table that is drawn anew at each look."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console()
        self._live = RichLive(console=self._console, auto_refresh=False, transient=True)
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        stamp = f"{time.monotonic() - self._began:5.1f} s"
        self._console.print(Text.assemble((stamp, "dim"), "  ", text))

    def show(self, total: int, progress: Progress, flights: Sequence[Flight]) -> None:
        self._live.update(
            Group(
                Text(
                    f"{progress.done:,} of {total:,} done, {progress.waiting:,} wait,"
                    f" {len(flights)} in flight"
                ),
                ProgressBar(total=total, completed=progress.done),
                self._table(flights),
            ),
            refresh=True,
        )

    def _table(self, flights: Sequence[Flight]) -> Table:
        table = Table(title="in flight", title_justify="left", box=None, pad_edge=False)
        for title in ("file", "held by", "attempt", "runs s", "left s"):
            number = title in {"attempt", "runs s", "left s"}
            table.add_column(title, justify="right" if number else "left", no_wrap=True)
        for flight in flights[:_ROWS]:
            style = "red" if flight.left < 0 or not flight.alive else ""
            cells = (
                shown(flight.path, 48), holder(flight), str(flight.attempts),
                f"{flight.running:.1f}", f"{flight.left:.1f}",
            )  # fmt: skip
            table.add_row(*(Text(cell) for cell in cells), style=style)
        return table

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self._live.stop()
