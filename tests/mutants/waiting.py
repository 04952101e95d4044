"""Mutants of how long a guard waits for a settlement that is under way."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, mutant

WAITING = "tests/protocol/test_guard_waiting.py::"
BOUND = "    where v_wait::interval = interval '0' or v_wait::interval > interval '2 s';"

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "guard_waits_for_ever",
        WAITING + "test_a_guard_beside_the_holders_own_open_settlement_does_not_wait_for_ever",
        "hold", "set_config('lock_timeout', '2s', true)", "set_config('lock_timeout', '0', true)",
    ),
    mutant(
        "impatient_ever_after",
        WAITING + "test_after_a_guard_the_transaction_waits_for_locks_as_before",
        "hold", "perform set_config('lock_timeout', v_wait, true);", "null;",
    ),
    mutant(
        "hasty_made_patient", WAITING + "test_a_shorter_wait_stays_short", "hold", BOUND, ";",
    ),
)  # fmt: skip
