"""Django on the database of a test. Without Django there are no tests here."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from tests.plugins.databases import Database

if TYPE_CHECKING:
    from tests.effects.in_django.room import Room

if find_spec("django") is None:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
def room(db: Database) -> Iterator[Room]:
    """Django's default database is the ledger's, with a table of notes; the hook is installed."""
    from tests.effects.in_django.room import furnished

    with furnished(db) as place:
        yield place


@pytest.fixture
def connection(room: Room) -> Any:
    """Django's, to the ledger's database."""
    return room.connection()
