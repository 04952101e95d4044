"""A server of a test's own, of the same programs as the others', which it may stop or restart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from emq_sql.embedded import Server, start
from emq_sql.errors import EmbeddedError
from tests.plugins.running import PgServer


def kind_of(pg_server: PgServer) -> str | None:
    """Which programs: those of the tests' server, where it is one of ours."""
    return pg_server.choice if pg_server.choice in ("embedded", "system") else None


@contextmanager
def own_server_of(kind: str | None, options: Mapping[str, str] | None = None) -> Iterator[Server]:
    """One that runs until the end of the block; the test is skipped where there can be none.

    `options` are further settings of the server.
    """
    try:
        server = start(prefer=kind, options=options)
    except EmbeddedError as error:
        pytest.skip(f"no server of its own: {error}")
    with server:
        yield server
