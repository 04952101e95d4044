"""Which job runs here: set around each call of a handler, by whatever runs it."""

from __future__ import annotations

from contextvars import ContextVar

from emq_sql.job import Claimed

# Tasks that a coroutine makes and `asyncio.to_thread` inherit it; a thread made by hand does not.
running: ContextVar[Claimed | None] = ContextVar("emq_sql_running", default=None)
