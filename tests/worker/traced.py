"""What a connection really sends, as libpq itself writes it down."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import psycopg

_SENT = re.compile(r'\tF\t\d+\t(?:Parse|Query)\t "(?:" ")?([^"]*)"')


class Traced(psycopg.Connection[Any]):
    """Writes each message to a file of its own, which is complete when it is closed."""

    def trace(self, to: Path) -> None:
        """From here on; nothing is prepared, so each statement comes with its text."""
        self.prepare_threshold = None
        with to.open("ab") as file:
            self.pgconn.trace(os.dup(file.fileno()))

    def close(self) -> None:
        if not self.closed:
            self.pgconn.untrace()
        super().close()


def traced(dsn: str, to: Path) -> Traced:
    """A connection in autocommit that is traced."""
    connection = Traced.connect(dsn, autocommit=True)
    connection.trace(to)
    return connection


def statements(trace: Path) -> list[str]:
    """The texts that were sent, in order."""
    return _SENT.findall(trace.read_text())
