"""How the statements of a text begin is told as the server would tell it."""

from __future__ import annotations

import pytest

from emq_sql.protocol.autocommit import ends_transactions
from emq_sql.protocol.statements import beginnings


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", []),
        (" ; -- only\n;", []),
        ("SELECT 1", ["select"]),
        ("; (select a from b);\n/* /* ; */ ; */ Commit", ["select a from", "commit"]),
        ("select 'it''s; end'; end", ["select", "end"]),
        (r"select '\'; commit; --'", ["select", "commit"]),
        (r"select e'\';'; commit", ["select", "commit"]),
        ('select "a;b"; end', ["select", "end"]),
        ("do $x$ begin $$;$$; commit; end $x$; end", ["do", "end"]),
        ("select $1, a$b$ from c; end", ["select a$b$ from", "end"]),
        ("create rule r as on insert to t do (a; b); end",
         ["create rule r", "end"]),
        ("create function f() returns int begin atomic select 1; select case when a then b end;"
         " end; commit", ["create function f", "commit"]),
        ("create function f(atomic int) returns int return 1; commit",
         ["create function f", "commit"]),
        ("select a, b, c, d, e, f, g, h, i, j, k; commit", ["select a b", "commit"]),
        ("select 'not closed; commit", ["select not closed", "commit"]),
        ("select 1 /* not closed; commit", ["select"]),
    ],
)  # fmt: skip
def test_strings_comments_and_bodies_are_no_statements(text: str, told: list[str]) -> None:
    assert list(beginnings(text)) == told


@pytest.mark.parametrize(
    ("beginning", "ends"),
    [
        ("commit", True), ("commit prepared", True), ("end", True), ("abort", True),
        ("begin", True), ("start transaction", True), ("prepare transaction", True),
        ("rollback", True), ("rollback and chain", True), ("rollback prepared", True),
        ("rollback to a", False), ("rollback work to a", False), ("savepoint a", False),
        ("rollback transaction to savepoint a", False), ("release a", False),
        ("prepare a as select", False), ("ending", False), ("select commit", False),
    ],
)  # fmt: skip
def test_what_begins_or_ends_a_transaction_is_known_by_its_first_words(
    beginning: str, ends: bool
) -> None:
    assert ends_transactions(beginning) is ends
