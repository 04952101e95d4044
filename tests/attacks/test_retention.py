"""Retention under attack."""

from __future__ import annotations

import pytest

from tests.attacks.arms import seconds, seed
from tests.attacks.retention import RetentionAttack
from tests.mutants.rendering import install
from tests.plugins.databases import Database

pytestmark = pytest.mark.attack


def test_ids_of_a_day_that_is_being_retired_may_come_again_and_each_is_done_once(
    empty_db: Database,
) -> None:
    install(empty_db.connect())
    attack = RetentionAttack(empty_db.dsn, seed(), jobs=int(seconds(6) * 600))
    print(f"seed {attack.seed}")
    calls = attack.run(seconds(6))
    assert attack.errors == []
    assert dict(attack.breaches) == {}
    assert calls["dropped"] == 1
    assert len(attack.sent) > 50
    assert attack.duplicates > 50
