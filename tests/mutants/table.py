"""For each clause of SQL that holds a promise: what breaks without it, and the test that says so.

A mutant is the schema with that clause taken out or turned round. The test named must fail on it;
it passes on the schema as it is, being part of the suite.
"""

from __future__ import annotations

from tests.mutants import (
    archive,
    churn,
    dead,
    export,
    frozen,
    guard,
    ledger,
    operators,
    recovery,
    refusals,
    settle,
    stopping,
    unique,
    upkeep,
    waiting,
)
from tests.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *archive.MUTANTS,
    *churn.MUTANTS,
    *dead.MUTANTS,
    *export.MUTANTS,
    *frozen.MUTANTS,
    *guard.MUTANTS,
    *ledger.MUTANTS,
    *operators.MUTANTS,
    *recovery.MUTANTS,
    *refusals.MUTANTS,
    *settle.MUTANTS,
    *stopping.MUTANTS,
    *unique.MUTANTS,
    *upkeep.MUTANTS,
    *waiting.MUTANTS,
)
BY_NAME = {mutant.name: mutant for mutant in MUTANTS}
