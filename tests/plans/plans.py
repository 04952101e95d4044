"""The plans that the functions really ran with, as auto_explain reports them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from psycopg.errors import Diagnostic

from tests.protocol.calls import Ledger

Node = dict[str, Any]

HOT = {"pending", "active", "scheduled", "job"}
_SETTINGS = (
    "auto_explain.log_min_duration = 0",
    "auto_explain.log_nested_statements = on",
    "auto_explain.log_analyze = on",
    "auto_explain.log_timing = off",
    "auto_explain.log_buffers = on",
    "auto_explain.log_format = json",
    "client_min_messages = log",
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement within a function: its text and its plan."""

    query: str
    plan: Node

    def nodes(self) -> Iterator[Node]:
        waiting = [self.plan]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(node.get("Plans", []))


@dataclass(slots=True)
class Watch:
    statements: list[Statement] = field(default_factory=list)

    def scans(self, tables: set[str]) -> list[tuple[str, Node]]:
        """Each scan of one of these tables, with the statement that it is part of."""
        return [
            (statement.query, node)
            for statement in self.statements
            for node in statement.nodes()
            if node["Node Type"].endswith("Scan")
            and (node.get("Relation Name") in tables or node["Node Type"] == "Bitmap Index Scan")
        ]

    def unsafe(self) -> list[str]:
        """Scans of a hot table that would walk all of it."""
        return [
            f"{node['Node Type']} of {node.get('Relation Name')} in: {query[:300]}"
            for query, node in self.scans(HOT)
            if node["Node Type"] not in ("Index Scan", "Index Only Scan", "Tid Scan")
            or ("Index Cond" not in node and node["Node Type"] != "Tid Scan")
        ]

    def tables(self) -> set[str]:
        return {node.get("Relation Name", "") for _, node in self.scans(HOT)}

    def most_pages(self) -> int:
        """Pages that the largest scan of a hot table touched, index and heap, cached or not."""
        most: int = max(
            node["Shared Hit Blocks"] + node["Shared Read Blocks"] for _, node in self.scans(HOT)
        )
        return most

    def rows_passed_over(self) -> int:
        """Rows that scans of hot tables found and did not want."""
        return sum(int(node.get("Rows Removed by Filter", 0)) for _, node in self.scans(HOT))


@contextmanager
def watching(ledger: Ledger, *, nested: bool = True) -> Iterator[Watch]:
    """Collect the plans of all that functions run in this session inside the block; when not
    `nested`, of the statements of the session itself.
    """
    watch = Watch()

    def hear(diagnostic: Diagnostic) -> None:
        text = diagnostic.message_primary or ""
        within_a_function = bool(diagnostic.context)
        if "plan:" in text and within_a_function == nested:
            told = json.loads(text[text.index("plan:") + len("plan:") :])
            watch.statements.append(Statement(told["Query Text"], told["Plan"]))

    ledger.run("load 'auto_explain'")
    for setting in _SETTINGS:
        ledger.run(f"set {setting}")
    ledger.conn.add_notice_handler(hear)
    try:
        yield watch
    finally:
        ledger.conn.remove_notice_handler(hear)
        ledger.run("reset client_min_messages")
        ledger.run("reset auto_explain.log_min_duration")
