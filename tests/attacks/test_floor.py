"""The floors under attack, and the two mutants that this attack must find."""

from __future__ import annotations

import pytest

from tests.attacks.arms import seconds, seed
from tests.attacks.floor import NO_SLACK, FloorAttack
from tests.mutants.rendering import Change, install
from tests.plugins.databases import Database

INLINE = Change("claim", "case when m.xmin > v_s[4] then v_s[3] end", "v_s[3]")
HOLDERS = Change(
    "maintain", "(l.virtualtransaction = any (s.holders) or l.virtualtransaction like '-1/%'))",
    "false)",
)  # fmt: skip

pytestmark = pytest.mark.attack


def test_no_live_row_is_below_a_floor_and_every_job_ends_once(empty_db: Database) -> None:
    install(empty_db.connect(), NO_SLACK)
    attack = FloorAttack(empty_db.dsn, seed())
    print(f"seed {attack.seed}")
    attack.run(seconds(6))
    assert attack.errors == []
    assert dict(attack.breaches) == {}
    assert len(attack.committed) > 200
    assert attack.cancelled


@pytest.mark.parametrize(
    "mutant",
    [
        pytest.param(INLINE, id="marks_count_at_once"),
        pytest.param(HOLDERS, id="holders_not_waited_for"),
    ],
)
def test_the_attack_finds_a_floor_that_rises_too_early(empty_db: Database, mutant: Change) -> None:
    install(empty_db.connect(), NO_SLACK, mutant)
    attack = FloorAttack(empty_db.dsn, seed(), first_breach_is_enough=True)
    print(f"seed {attack.seed}")
    attack.run(seconds(30))
    assert attack.errors == []
    assert attack.breaches, "the mutant survived"
