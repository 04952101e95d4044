"""One clause of SQL changed, and the test that must fail then."""

from __future__ import annotations

from dataclasses import dataclass

from tests.mutants.rendering import Change


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed clause, and the node id of the test that must fail."""

    name: str
    test: str
    changes: tuple[Change, ...]

    def clause(self) -> str:
        """For the printed table: the clause, in one line."""
        old = " ".join(self.changes[0].old.split())
        new = " ".join(self.changes[0].new.split())
        return f"{self.changes[0].file}: {old[:60]} -> {new[:40] or '(nothing)'}"


def mutant(name: str, test: str, file: str, old: str, new: str = "") -> Mutant:
    return Mutant(name, test, (Change(file, old, new),))


def settings_off(name: str, test: str, file: str) -> Mutant:
    """The function without its pinned planner settings."""
    join = " set enable_hashjoin = off set enable_mergejoin = off"
    scan = "set enable_seqscan = off set enable_bitmapscan = off"
    return mutant(name, test, file, f"{scan}{join}\n")
