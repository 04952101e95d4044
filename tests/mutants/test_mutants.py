"""A slice of the mutants in each run of the suite; `make mutants` runs all of them."""

from __future__ import annotations

import ast

import pytest

from tests.mutants.killing import ROOT, judge
from tests.mutants.mutant import Mutant
from tests.mutants.rendering import render
from tests.mutants.table import BY_NAME, MUTANTS
from tests.plugins.running import PgServer

SLICE = (
    "enqueue_without_on_conflict", "number_before_xid",
    "pause_not_asked_again", "complete_any_fence",
    "ids_without_fences", "guard_without_lock", "stalled_not_counted", "replay_from_zero",
    "retire_does_not_count_again", "retire_any_envelope", "functions_open_to_the_public",
    "path_of_the_caller",
)  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_clause_is_there_and_the_test_too(mutant: Mutant) -> None:
    assert render(*mutant.changes) != render()
    path, _, name = mutant.test.partition("::")
    tree = ast.parse((ROOT / path).read_text())
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert name.partition("[")[0] in functions


def test_each_mutant_has_a_name_of_its_own() -> None:
    assert len(BY_NAME) == len(MUTANTS) > 80


@pytest.mark.parametrize("name", SLICE)
def test_a_promise_without_its_clause_is_noticed(pg_server: PgServer, name: str) -> None:
    verdict = judge(BY_NAME[name], pg_server.dsn)
    assert verdict.killed, verdict.said
