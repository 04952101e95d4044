"""For each clause of the template that holds a promise: the test that fails without it.

`python -m tests.upgrade.clauses [name ...]` judges all, or these; all must be held. Each runs in a
tree of its own, with this checkout's code and tests, and migrations that lack the clause.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = "step.sql"
TESTS = "tests/upgrade/test_lock_budget.py"
HELD_UP = "test_a_step_that_is_held_up_holds_nobody_up_and_goes_on_when_it_can"
NEVER = "test_a_step_that_never_gets_its_lock_changes_nothing_and_says_who_has_it"
OWN = "test_the_sessions_own_lock_timeout_is_kept_before_and_after"
ONCE = "test_a_step_whose_transaction_holds_others_up_already_tries_once"
CROSSING = "test_of_a_step_and_a_transaction_that_wait_for_each_other_the_step_gives_way"
PREPARED = "test_a_prepared_transaction_that_is_in_the_way_is_named"
ANOTHER = "test_who_waits_for_another_upgrade_waits_until_it_has_ended"

_LOCK = "perform pg_advisory_xact_lock(7305, hashtext('emq.'));"
_BUDGET = "perform set_config('lock_timeout', '500ms', true) where v_wait = '0';"
_STRONG = "('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')"


@dataclass(frozen=True, slots=True)
class Clause:
    """In the template `old` becomes `new`, and the test fails."""

    name: str
    test: str
    old: str
    new: str = ""


CLAUSES = (
    Clause("waits_for_ever", HELD_UP, _BUDGET),
    Clause("keeps_what_it_has", HELD_UP, "perform pg_sleep(0.2 + random() * 0.8);"),
    Clause("never_gives_up", NEVER, "clock_timestamp() >= v_until", "false"),
    Clause("names_any_schema", NEVER, "c.relnamespace = (", "true or c.relnamespace = ("),
    Clause("own_timeout_is_lost", OWN, " where v_wait = '0'"),
    Clause("timeout_stays", OWN, "perform set_config('lock_timeout', v_wait, true);"),
    Clause("holds_others_up", ONCE, f"l.mode in {_STRONG}", "false"),
    Clause("deadlock_is_an_end", CROSSING, " or deadlock_detected"),
    Clause(
        "prepared_is_nameless", PREPARED, "case when l.pid is null then", "case when false then"
    ),
    Clause("budget_for_another_upgrade", ANOTHER, _LOCK, f"{_BUDGET} {_LOCK}"),
)


def judge(clause: Clause, dsn: str | None = None) -> tuple[bool, str]:
    """Whether its test fails without it, and the last line that pytest printed."""
    with tempfile.TemporaryDirectory(prefix="emq-clause-") as made:
        tree = Path(made)
        for name in ("emq_sql", "tests", "pyproject.toml"):
            (tree / name).symlink_to(ROOT / name)
        shutil.copytree(ROOT / "migrations", tree / "migrations")
        file = tree / "migrations" / TEMPLATE
        file.write_text(without(file.read_text(), clause))
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-xq", "--no-header", "--tb=line", "--timeout=60",
             "-p", "no:cacheprovider", "-p", "no:xdist", f"{TESTS}::{clause.test}"],
            env=_environment() | ({"EMQ_SQL_TEST_DSN": dsn} if dsn else {}), cwd=tree,
            capture_output=True, text=True, check=False, timeout=240, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    last = (done.stdout.strip().splitlines() or ["nothing"])[-1]
    return done.returncode == 1 and bool(re.search(r"\b\d+ failed\b", last)), last


def without(text: str, clause: Clause) -> str:
    """The template without the clause, which must be in it once."""
    assert text.count(clause.old) == 1, f"{clause.name}: {text.count(clause.old)} times"
    return text.replace(clause.old, clause.new)


def _environment() -> dict[str, str]:
    # Bytecode of the links would say where the checkout is.
    mine = {"PYTHONDONTWRITEBYTECODE": "1"}
    return {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")} | mine


def main(names: list[str]) -> int:
    """Judge them; 1 when one survives."""
    survived = []
    for clause in CLAUSES:
        if not names or clause.name in names:
            killed, said = judge(clause)
            print(
                f"{clause.name} {'->' if killed else 'SURVIVED'} {clause.test}: {said}", flush=True
            )
            survived += [] if killed else [clause.name]
    return bool(survived)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
