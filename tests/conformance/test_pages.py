"""The reference pages say what there is: the scenarios, the signatures, the worker."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from emq_sql.protocol import steps
from tests.conformance import scenarios, weaknesses
from tests.conformance.scenarios import SCENARIOS
from tests.conformance.signatures import CLAIMED_JOB, signatures
from tests.conformance.weaknesses import WEAKNESSES
from tests.conformance.workers import SCRIPT, SHORT
from tests.protocol.calls import Ledger
from tests.security.test_roles import MAY_CALL

ROOT = Path(__file__).resolve().parents[2]
PROTOCOL = (ROOT / "docs/reference/protocol.md").read_text()
ECHOMQ = (ROOT / "docs/reference/echomq.md").read_text()
FAMILIES = {scenarios.file_of(one) for one in SCENARIOS if one.status == "ported"}

# 18 + 6 + 8 + 5 + 6 + 3 + 9 + 2 + 2 + 2 + 12 + 6
COUNTS = {
    "state machine": 18, "read plane": 6, "operator": 8, "watch": 5, "depth": 6, "groups": 3,
    "flows": 9, "pool": 2, "lock field": 2, "weights": 2, "batch": 12, "streams": 6,
}  # fmt: skip


def functions(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def tables(page: str) -> list[str]:
    return [f"{block.rstrip()}\n" for block in page.split("\n\n") if block.startswith("| ")]


def test_the_table_has_all_seventy_nine_scenarios_once() -> None:
    assert len({one.name for one in SCENARIOS}) == len(SCENARIOS) == 79
    found = {family: sum(one.family == family for one in SCENARIOS) for family in COUNTS}
    assert found == COUNTS


def test_each_ported_scenario_has_its_test_and_each_test_its_scenario() -> None:
    for path in FAMILIES:
        named = {one.test for one in SCENARIOS if one.test and scenarios.file_of(one) == path}
        written = {name for name in functions(path) if name.startswith("test_")}
        assert named == written
    assert all(one.test.startswith(f"test_{one.name}_") for one in SCENARIOS if one.test)


def test_what_is_not_as_it_was_says_why() -> None:
    assert {one.status for one in SCENARIOS} == {"ported", "later", "deviates"}
    assert [one.name for one in SCENARIOS if one.status != "ported" and not one.note] == []
    assert [one.name for one in SCENARIOS if (one.status == "ported") != bool(one.test)] == []


def test_the_page_shows_exactly_these_tables() -> None:
    assert tables(ECHOMQ) == [scenarios.table(), weaknesses.table()]
    assert scenarios.summary() in ECHOMQ


def test_each_weakness_has_a_test_that_exists_or_says_with_what_it_comes() -> None:
    assert [one.number for one in WEAKNESSES] == list(range(1, 23))
    for one in WEAKNESSES:
        assert one.tests or one.later
        for test in one.tests:
            path, name = test.split("::")
            assert name in functions(path) | {"*"}
    named = {test.split("::")[1] for one in WEAKNESSES for test in one.tests}
    assert {name for name in functions(weaknesses.HERE) if name.startswith("test_")} <= named


def blocks(heading: str) -> str:
    """The signatures under a heading, with one space for each break of a line."""
    under = PROTOCOL.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return " ".join(" ".join(re.findall(r"```\n(.*?)```", under, re.DOTALL)).split())


def test_the_protocol_page_has_the_signatures_that_the_schema_has(ledger: Ledger) -> None:
    there = signatures(ledger)
    shown = {
        role: blocks(heading)
        for role, heading in (
            ("producer", "The producer"), ("worker", "The worker"),
            ("operator", "Operators and readers"),
        )
    }  # fmt: skip
    assert CLAIMED_JOB in shown["worker"]
    for name, signature in there.items():
        mine = [role for role, text in shown.items() if re.search(rf"(^| ){name}\(", text)]
        assert mine, f"{name} is not shown"
        for role in mine:
            assert re.search(rf"(^| ){re.escape(signature)}( |$)", shown[role]), signature
            assert role in MAY_CALL[name]
    for role in ("producer", "worker"):
        text = shown["producer"] + " " + (shown["worker"] if role == "worker" else "")
        shown_to_role = {name for name in there if re.search(rf"(^| ){name}\(", text)}
        assert shown_to_role == {name for name, roles in MAY_CALL.items() if role in roles}


def test_the_protocol_page_names_each_sqlstate_of_our_own_and_the_newest_version() -> None:
    sources = "\n".join(path.read_text() for path in (ROOT / "migrations").rglob("*.sql"))
    ours = set(re.findall(r"'(EQ\d{3})'", sources))
    assert ours == set(re.findall(r"\bEQ\d{3}\b", PROTOCOL))
    versions = PROTOCOL.split("\n## Versions\n")[1].split("\n## ")[0]
    assert re.findall(r"^\| (\d+) \|", versions, re.M) == [
        str(number) for number in range(1, steps.newest() + 1)
    ]
    assert f"{steps.newest()} ${{EMQ_ENVIRONMENT-}}" in SCRIPT.read_text()


def test_the_worker_in_the_page_is_the_one_that_is_tested() -> None:
    short, shown = re.findall(r"```bash\n(.*?)```", PROTOCOL, re.DOTALL)
    assert shown == SCRIPT.read_text()
    assert short == SHORT.read_text()
