"""Jobs that are made ready together are the same as jobs made ready one by one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emq_sql import EMQ
from emq_sql.errors import BadPayload, PayloadTooLarge
from emq_sql.preparing import Options, Preparing
from emq_sql.rules import payload

NUMBERS = st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc"), inner, max_size=3),
    max_leaves=8,
).filter(lambda value: "\\u0000" not in json.dumps(value))
ROWS = st.lists(st.dictionaries(st.text("abcdé", min_size=1), VALUES, max_size=4), max_size=5)


def send(**kwargs: Any) -> None: ...


def made(limit: int = payload.PAYLOAD_LIMIT, **said: Any) -> Preparing:
    emq = EMQ("postgresql:///nowhere", payload_limit=limit)
    return Preparing(emq.task(name="send")(send), Options(**{"queue": "default"} | said))


@given(ROWS)
def test_a_batch_says_of_each_job_what_it_says_alone(rows: list[dict[str, Any]]) -> None:
    preparing = made()
    together = preparing.batch_of(rows)
    alone = preparing.all_of(rows, [None] * len(rows))
    if together is None:
        assert not rows
        return
    batch, back = together.batch, together.one_by_one()
    assert json.loads(batch.payloads) == [json.loads(one.job.payload) for one in alone]
    assert [(one.job.id, one.job.payload) for one in back] == [
        (id, one.job.payload) for id, one in zip(batch.ids, alone, strict=True)
    ]
    assert all(one.minted for one in back)
    assert sorted(batch.ids) == list(batch.ids)


@given(
    st.dictionaries(st.text("ab\\\n\x01\x7f\"'", min_size=1), st.text('ab\\\n\x01"'), max_size=9)
)
def test_what_is_called_small_is_within_the_limit(document: dict[str, Any]) -> None:
    limit = payload.PAYLOAD_LIMIT
    large = {key: value * 5000 for key, value in document.items()}
    for one in (document, large):
        if payload.is_small(one, limit):
            assert len(payload.encode_array([one])) - 2 <= limit


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(
    ("value", "error"), [(object(), BadPayload), ("x" * 300_000, PayloadTooLarge)]
)
def test_a_job_that_cannot_be_kept_is_named_wherever_it_stands(
    place: int, value: object, error: type[Exception]
) -> None:
    rows: list[dict[str, Any]] = [{"n": 1}, {"n": 2}, {"n": 3}]
    rows[place] = {"n": value}
    with pytest.raises(error, match=f"Job {place} of 3"):
        made().batch_of(rows)


def test_a_small_limit_is_kept_to_the_byte() -> None:
    rows = [{"n": "x" * 12}, {"n": "x" * 13}]  # 20 and 21 bytes of JSON
    assert made(20).batch_of(rows[:1]) is not None
    with pytest.raises(PayloadTooLarge, match="Job 1 of 2"):
        made(20).batch_of(rows)


def test_what_a_batch_cannot_say_is_left_to_jobs_one_by_one() -> None:
    from datetime import UTC, datetime, timedelta

    rows = [{"n": 1}]
    assert made(delay=timedelta(seconds=1)).batch_of(rows) is None
    assert made(run_at=datetime.now(UTC)).batch_of(rows) is None
    assert made().batch_of([]) is None
    assert made().batch_of([{"n": "x" * 200_000}] * 100) is None


def test_what_was_made_ready_stays_as_it_was_whatever_becomes_of_its_arguments() -> None:
    rows: list[dict[str, Any]] = [{"n": [1]}]
    together = made().batch_of(rows)
    assert together is not None
    rows[0]["n"].append(object())
    assert [json.loads(one.job.payload) for one in together.one_by_one()] == [{"n": [1]}]
