"""A private PostgreSQL for demo, development and tests, from programs that pip can install."""

from __future__ import annotations

from emq_sql.embedded.binaries import Binaries, find
from emq_sql.embedded.server import Server, start

__all__ = ["Binaries", "Server", "find", "start"]
