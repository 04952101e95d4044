"""A server of a test's own whose clock the test moves: history is lived through, not written."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from emq_sql.embedded import account, supervision
from tests.plugins.own_server import own_server_of

_LIBRARY = sorted(
    Path(sys.prefix).glob("lib/python*/site-packages/libfaketime/vendor/**/libfaketime.so.1")
)


@dataclass(frozen=True, slots=True)
class Moved:
    """A running server, and the file that says how far its clock is from ours."""

    dsn: str
    clock: Path

    def set(self, *, days: float) -> None:
        """So many days from now, from the next look at the clock on."""
        self.clock.write_text(f"{days * 86400:+.0f}\n")


@contextmanager
def moved_server(kind: str | None) -> Iterator[Moved]:
    """One with the ledger in it; the test is skipped where its clock cannot be moved."""
    from tests.mutants.installing import install_schema

    if not _LIBRARY:
        pytest.skip("libfaketime is not installed")
    with tempfile.TemporaryDirectory(dir="/tmp") as name, pytest.MonkeyPatch.context() as patch:
        place = Path(name)
        place.chmod(0o755)  # for the account that the server runs as
        library, clock = place / _LIBRARY[0].name, place / "clock"
        shutil.copyfile(_LIBRARY[0], library)
        clock.write_text("+0\n")
        kept = account.environment
        given = {
            "LD_PRELOAD": str(library), "FAKETIME_TIMESTAMP_FILE": str(clock),
            "FAKETIME_NO_CACHE": "1", "DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }  # fmt: skip
        # A server is guarded against exactly this.
        for module in (account, supervision):
            patch.setattr(module, "environment", lambda: kept() | given)
        with own_server_of(kind) as server:
            with psycopg.connect(server.dsn) as conn:
                install_schema(conn)
            yield Moved(server.dsn, clock)
