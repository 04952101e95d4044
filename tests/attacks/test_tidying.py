"""tidy under attack, and killed."""

from __future__ import annotations

import pytest

from tests.attacks.arms import seconds, seed
from tests.attacks.tidying import TidyAttack
from tests.mutants.installing import install_schema
from tests.plugins.databases import Database

pytestmark = pytest.mark.attack


def test_who_tidies_may_be_killed_at_any_moment_while_everybody_works_on(
    empty_db: Database,
) -> None:
    conn = empty_db.connect()
    install_schema(conn)
    attack = TidyAttack(empty_db.dsn, seed(), jobs=int(seconds(1.5) * 600))
    print(f"seed {attack.seed}")
    deadlocks = "select deadlocks from pg_stat_database where datname = current_database()"
    attack.run(seconds(1.5))
    assert attack.errors == []
    assert dict(attack.breaches) == {}
    print(f"killed {attack.killed}, sent again {len(attack.sent)}")
    assert attack.killed >= 2
    assert len(attack.sent) > 20
    assert conn.execute(deadlocks).fetchone() == (0,)
