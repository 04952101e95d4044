"""What is said of dead letters is written as the ledger reads it, or refused by its name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from emq_sql.errors import BadInput
from emq_sql.minting import new_id
from emq_sql.rules.dead_filter import says_nothing, written

INSTANT = datetime(2026, 1, 31, 10, tzinfo=timezone(timedelta(hours=1)))
ID = new_id()


@pytest.mark.parametrize(
    ("name", "value", "as_written"),
    [
        ("queue", "mail", ["mail"]),
        ("task", ("a.b", "Ä"), ["a.b", "Ä"]),
        ("reason", ["no handler", "stalled"], ["no handler", "stalled"]),
        ("ids", [ID, str(ID)], [str(ID)] * 2),
        ("ids", ID, [str(ID)]),
        ("fingerprint", [], []),
        ("error", "%'", "%'"),
        ("died_after", INSTANT, "2026-01-31T09:00:00+00:00"),
        ("older_than", timedelta(minutes=1), 60.0),
        ("younger_than", 0, 0.0),
        ("min_stalled", 0, 0),
        ("include_permanent", False, False),
    ],
)
def test_it_is_written_as_json(name: str, value: object, as_written: object) -> None:
    assert written({name: value}) == {name: as_written}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("qeue", "mail"), ("queue", None), ("queue", "Mail"), ("queue", ["mail", None]),
        ("queue", b"mail"), ("task", ""), ("reason", "boredom"), ("reason", ["stalled", "x"]),
        ("ids", ["1"]), ("ids", 7), ("error", ""), ("error", ["x"]), ("worker", 3),
        ("died_before", INSTANT.replace(tzinfo=None)), ("died_before", "2026-01-31"),
        ("older_than", -1), ("older_than", "2h"), ("min_attempts", -1), ("min_attempts", 1.0),
        ("min_failures", True), ("min_failures", 2**31), ("include_permanent", 1),
    ],
)  # fmt: skip
def test_what_is_none_for_its_name_is_refused(name: str, value: object) -> None:
    with pytest.raises(BadInput) as caught:
        written({"queue": "mail", name: value})
    assert caught.value.hint


def test_only_what_chooses_says_something() -> None:
    assert says_nothing({}) and says_nothing({"include_permanent": True})
    assert not says_nothing({"queue": []})
    assert not says_nothing(written({"died_after": datetime.now(UTC)}))
