"""Whatever is accepted comes back equal from the server; whatever is refused never reached it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from emq_sql import EMQ
from emq_sql.errors import BadInput
from emq_sql.minting import new_id
from emq_sql.protocol import claiming, holding
from tests.plugins.databases import Database

real_server = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
nonces = itertools.count(1)

# Lone surrogates and NUL are among the characters.
texts = st.text(st.characters(codec=None, exclude_categories=()), max_size=20)
numbers = (
    st.integers()
    | st.integers(-(10**645), 10**645)
    | st.floats()
    | st.sampled_from([1e308, -1e308, 5e-324, -0.0, 2**63, -(2**63) - 1, 10**639])
)
leaves = st.none() | st.booleans() | numbers | texts | st.binary(max_size=3)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(texts | st.integers(), inner, max_size=4)
        | st.tuples(inner, inner)
    ),
    max_leaves=12,
)
names = texts | st.text("abcz09_.:- A", max_size=70) | st.sampled_from(["a" * 63, "a" * 64, "a\n"])


def take(value: Any) -> None:
    """The function of the tasks."""


class Roundtrip:
    """Enqueues, claims what came of it, and retires it."""

    def __init__(self, emq: EMQ) -> None:
        self.emq = emq
        self.conn = emq.connect()

    def claim(self, queue: str = "default") -> claiming.Claimed:
        (held,) = claiming.claim(self.conn, self.emq.schema, queue, 2, "fuzz", next(nonces))
        assert holding.complete(self.conn, self.emq.schema, [held.lease]) == ["done"]
        return held

    def count(self) -> int:
        (row,) = self.conn.execute("select count(*) from emq.job").fetchall()
        return int(row[0])


@pytest.fixture
def trip(db: Database) -> Iterator[Roundtrip]:
    """On a database of its own, for all examples of a test."""
    made = Roundtrip(EMQ(db.dsn))
    yield made
    made.conn.close()
    made.emq.engine.dispose()


def as_json_has_it(value: Any) -> Any:
    """Tuples are lists in JSON; all else is itself."""
    if isinstance(value, (list, tuple)):
        return [as_json_has_it(item) for item in value]
    if isinstance(value, dict):
        return {key: as_json_has_it(item) for key, item in value.items()}
    return value


def same(one: Any, two: Any) -> bool:
    """`one` is what came back of `two`: equal, a whole float of 1e16 or more as an int of the
    same digits.
    """
    if isinstance(one, bool) or isinstance(two, bool):
        return one is two
    if isinstance(two, float):
        return isinstance(one, float if abs(two) < 1e16 else int) and float(one) == two
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    return type(one) is type(two) and bool(one == two)


@real_server
@given(value=values)
@example(value={"*": 1, "": [], "a": {"": None}})
@example(value="\\u0000 and \\ud800 as text")
@example(value=[1e16, 1e22, 123456789012345678901234567890, 0.1 + 0.2])
@example(value="\x7f\x85\u2028\ufeff\uffff\U0010ffff")
def test_a_value_comes_back_equal_or_was_refused(trip: Roundtrip, value: Any) -> None:
    before = trip.count()
    task = trip.emq.task(name="take")(take)
    try:
        answer = task.enqueue(value=value)
    except BadInput:
        assert trip.count() == before
        return
    held = trip.claim()
    assert held.lease.id == answer.id
    assert same(held.payload["value"], as_json_has_it(value))


@real_server
@given(headers=st.dictionaries(texts, values, max_size=4))
def test_headers_come_back_equal_or_were_refused(trip: Roundtrip, headers: dict[str, Any]) -> None:
    before = trip.count()
    task = trip.emq.task(name="take")(print)
    try:
        task.using(headers=headers).enqueue()
    except BadInput:
        assert trip.count() == before
        return
    held = trip.claim()
    assert same(held.headers, as_json_has_it(headers))


@real_server
@given(name=names)
def test_a_name_of_a_task_comes_back_equal_or_was_refused(trip: Roundtrip, name: str) -> None:
    try:
        task = trip.emq.task(name=name)(print)
    except BadInput:
        return
    task.enqueue()
    assert trip.claim().task == name


@real_server
@given(name=names)
def test_a_name_of_a_queue_is_taken_by_the_server_or_was_refused(
    trip: Roundtrip, name: str
) -> None:
    before = trip.count()
    task = trip.emq.task(name="take")(print)
    try:
        task.using(queue=name).enqueue()
    except BadInput:
        assert trip.count() == before
        # The server has the same grammar: what we refuse, it would refuse as well.
        if "\0" not in name and not any("\ud800" <= c <= "\udfff" for c in name):
            with pytest.raises(Exception, match="outside the grammar"):
                trip.conn.execute("select emq.enqueue(%s, 'take', '{}')", [name])
        return
    assert trip.claim(name).queue == name


@real_server
@given(
    delay=st.none() | st.floats() | st.integers() | st.timedeltas(),
    run_at=st.none() | st.datetimes(timezones=st.none() | st.timezones()),
    priority=st.none() | st.integers(-2, 7) | st.integers(),
    max_attempts=st.none() | st.integers(-1, 40_000) | st.integers(),
    lease=st.none() | st.floats() | st.timedeltas(),
)
def test_options_are_taken_by_the_server_or_were_refused(trip: Roundtrip, **options: Any) -> None:
    before = trip.count()
    task = trip.emq.task(name="take")(print)
    try:
        answer = task.using(**options, job_id=new_id()).enqueue()
    except BadInput:
        assert trip.count() == before
        return
    assert trip.count() == before + 1
    place = trip.emq.place(answer.id)
    assert place is not None
    assert place["place"] == ("scheduled" if answer.status == "scheduled" else "pending")
    if answer.status == "enqueued":
        trip.claim()
