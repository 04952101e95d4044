"""A slice of the clauses in each run; `python -m tests.upgrade.clauses` judges all of them."""

from __future__ import annotations

import ast

import pytest

from tests.plugins.running import PgServer
from tests.upgrade.clauses import CLAUSES, ROOT, TEMPLATE, TESTS, Clause, judge, without

SLICE = {"own_timeout_is_lost", "timeout_stays"}


@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: clause.name)
def test_the_clause_is_in_the_template_and_its_test_is_there(clause: Clause) -> None:
    text = (ROOT / "migrations" / TEMPLATE).read_text()
    assert without(text, clause) != text
    tree = ast.parse((ROOT / TESTS).read_text())
    assert clause.test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(
    "clause", [clause for clause in CLAUSES if clause.name in SLICE], ids=lambda clause: clause.name
)
def test_a_step_without_the_clause_fails_its_test(pg_server: PgServer, clause: Clause) -> None:
    killed, said = judge(clause, pg_server.dsn)
    assert killed, said
