"""Mutants of what keeps a worker that was frozen from committing, judged with real freezes."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, mutant

FROZEN = (
    "tests/faults/test_frozen_holders.py::"
    "test_holders_that_are_frozen_past_their_lease_commit_nothing_for_it"
)

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "frozen_guard_any_fence", FROZEN,
        "hold", "a.id = p_id and a.fence = p_fence for key share", "a.id = p_id for key share",
    ),
    mutant(
        "frozen_commit_unasked", FROZEN,
        "guard_commit", "if pg_current_xact_id_if_assigned() is null then", "if true then",
    ),
)  # fmt: skip
