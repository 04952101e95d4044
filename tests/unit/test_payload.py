"""What a producer gives is what the handler gets, or it is refused before anything is written."""

from __future__ import annotations

import enum
import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emq_sql.errors import BadPayload, PayloadTooLarge
from emq_sql.rules.payload import (
    PAYLOAD_LIMIT,
    UNSTORABLE,
    decode,
    encode,
    encode_headers,
    encode_result,
    storable_result,
)
from tests.unit.strategies import NASTY_CHARACTERS

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
PLAIN = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=15,
)
KEYWORDS = st.dictionaries(TEXT.filter(lambda key: key != "*"), PLAIN, max_size=4)
ANYTHING = st.recursive(
    SCALARS
    | st.floats()
    | st.text(NASTY_CHARACTERS, max_size=5)
    | st.binary(max_size=5)
    | st.decimals()
    | st.datetimes()
    | st.uuids()
    | st.sets(st.integers(), max_size=2)
    | st.complex_numbers()
    | st.builds(object),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(NASTY_CHARACTERS, max_size=3) | st.integers(), inner, max_size=3)
    ),
    max_leaves=10,
)


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    HIGH = 3


class Size(enum.StrEnum):
    LARGE = "large"


@given(st.lists(PLAIN, max_size=4), KEYWORDS)
def test_arguments_come_back_as_they_were_given(args: list[Any], kwargs: dict[str, Any]) -> None:
    assert decode(json.loads(encode(args, kwargs))) == (tuple(args), kwargs)


@settings(max_examples=200)
@given(ANYTHING)
def test_any_value_is_either_written_as_strict_json_or_refused_by_name(value: Any) -> None:
    def fail(constant: str) -> None:
        raise AssertionError(constant)

    try:
        text = encode((), {"value": value})
    except BadPayload as error:
        assert str(error).isprintable()
        assert error.hint
    else:
        document = json.loads(text, parse_constant=fail)
        assert set(document) == {"value"}
        assert "\\u0000" not in text
        text.encode()


def test_positional_arguments_have_a_key_only_when_there_are_some() -> None:
    assert encode((), {"order_id": 42}) == '{"order_id":42}'
    assert json.loads(encode((1, "b"), {})) == {"*": [1, "b"]}


def test_tuples_and_enumerations_of_plain_types_arrive_as_plain_values() -> None:
    kwargs = {"pair": (1, (2,)), "level": Level.HIGH, "size": Size.LARGE}
    assert json.loads(encode((), kwargs)) == {"pair": [1, [2]], "level": 3, "size": "large"}


@pytest.mark.parametrize(
    ("value", "reason", "remedy"),
    [
        (float("nan"), "is nan", "None"),
        (float("inf"), "is inf", "None"),
        (1e400, "is inf", "None"),
        (b"x", "bytes", "base64"),
        (bytearray(b"x"), "bytearray", "base64"),
        ({1, 2}, "set", "sorted"),
        (frozenset(), "frozenset", "sorted"),
        (Decimal("1.5"), "Decimal", "str"),
        (UUID(int=7), "UUID", "str"),
        (datetime(2026, 1, 1, tzinfo=UTC), "datetime", "isoformat"),
        (date(2026, 1, 1), "date", "isoformat"),
        (timedelta(1), "timedelta", "total_seconds"),
        (Colour.RED, "Colour", "value"),
        (1j, "complex", "two floats"),
        (object(), "object", "key of a row"),
        (iter([1]), "iterator", "key of a row"),
        ("a\0b", "NUL character at position 1", "base64"),
        ("a\ud83d", r"lone surrogate U\+D83D at position 1", "decode"),
        ({"a\0": 1}, "A key of .* NUL", "base64"),
        ({"\udc00": 1}, "A key of .* surrogate", "decode"),
        ({3: 1}, "a key that is no string: 3", "str"),
        ({None: 1}, "a key that is no string: a NoneType", "str"),
        ({(1, 2): 1}, "a key that is no string: a tuple", "list of pairs"),
        pytest.param(10**640, "more than 640 digits", "text", id="641 digits"),
        pytest.param(-(10**5000), "more than 640 digits", "text", id="huge negative"),
    ],
)
def test_a_value_that_is_no_plain_json_is_refused_with_its_place_and_a_remedy(
    value: Any, reason: str, remedy: str
) -> None:
    with pytest.raises(BadPayload, match=reason) as caught:
        encode((), {"order": {"items": [0, 1, 2, {"price": value}]}})
    assert "order.items[3].price" in caught.value.what
    assert caught.value.hint is not None
    assert remedy in caught.value.hint


@pytest.mark.parametrize(
    ("args", "kwargs", "path"),
    [
        ((1, {"a": b""}), {}, "*[1].a"),
        ((), {"order": b""}, "order"),
        ((), {"order": {"the price": b""}}, "order['the price']"),
        ((), {"order": {"*": b""}}, "order['*']"),
        ((), {"order": {"\n": b""}}, r"order['\n']"),
        ((), {3: 1}, "The payload"),
    ],
)
def test_the_place_in_the_payload_is_named(args: Any, kwargs: Any, path: str) -> None:
    with pytest.raises(BadPayload) as caught:
        encode(args, kwargs)
    assert caught.value.what.startswith(f"{path} ")


def test_a_refusal_never_quotes_the_value() -> None:
    for secret in ["hunter2\0", "hunter2\ud800", b"hunter2", Decimal("7.77")]:
        with pytest.raises(BadPayload) as caught:
            encode((), {"password": secret})
        assert "hunter2" not in str(caught.value)
        assert "7.77" not in str(caught.value)


def test_a_structure_that_contains_itself_is_refused() -> None:
    circle: list[Any] = []
    circle.append({"again": circle})
    with pytest.raises(BadPayload, match=r"tree\[0\]\.again contains itself"):
        encode((), {"tree": circle})


def test_one_list_in_two_places_is_no_circle() -> None:
    twice = [1]
    assert json.loads(encode((twice, twice), {})) == {"*": [[1], [1]]}


def test_nesting_is_refused_beyond_a_hundred_levels_and_kept_up_to_there() -> None:
    def nested(levels: int) -> Any:
        value: Any = []
        for _ in range(levels - 1):
            value = [value]
        return value

    assert json.loads(encode((), {"tree": nested(99)})) == {"tree": nested(99)}
    for levels in (100, 100_000):
        with pytest.raises(BadPayload, match="100 levels"):
            encode((), {"tree": nested(levels)})


def test_the_limit_counts_bytes_of_utf_8_and_is_inclusive() -> None:
    frame = len('{"t":""}')
    assert encode((), {"t": "é" * 10}, limit=frame + 20) == '{"t":"' + "é" * 10 + '"}'
    with pytest.raises(PayloadTooLarge, match=f"over {frame + 19} bytes"):
        encode((), {"t": "é" * 10}, limit=frame + 19)


@given(KEYWORDS)
def test_what_fits_the_limit_exactly_is_accepted(kwargs: dict[str, Any]) -> None:
    size = len(encode((), kwargs).encode())
    assert encode((), kwargs, limit=size)
    with pytest.raises(PayloadTooLarge):
        encode((), kwargs, limit=size - 1)


def test_a_small_structure_that_unfolds_into_a_huge_one_is_refused_at_once() -> None:
    bomb: list[Any] = []
    for _ in range(90):
        bomb = [bomb, bomb]
    with pytest.raises(PayloadTooLarge, match=f"{PAYLOAD_LIMIT:,}"):
        encode((), {"bomb": bomb})


def test_a_keyword_argument_cannot_take_the_place_of_the_positional_ones() -> None:
    with pytest.raises(BadPayload, match="named '\\*'"):
        encode((), {"*": [1]})


@pytest.mark.parametrize("payload", [None, True, 3, "text", [1], 1.5])
def test_a_payload_that_is_no_object_is_refused(payload: object) -> None:
    with pytest.raises(BadPayload, match="not a JSON object"):
        decode(payload)


@pytest.mark.parametrize("args", [None, False, 3, "text", {"a": 1}])
def test_a_payload_whose_positional_arguments_are_no_list_is_refused(args: object) -> None:
    with pytest.raises(BadPayload, match="is not a list"):
        decode({"*": args, "a": 1})


def test_decoding_leaves_the_payload_as_it_is() -> None:
    payload = {"*": [1], "a": 2}
    assert decode(payload) == ((1,), {"a": 2})
    assert payload == {"*": [1], "a": 2}


def test_headers_are_checked_as_arguments_are() -> None:
    assert encode_headers({"traceparent": "00-ab"}) == '{"traceparent":"00-ab"}'
    with pytest.raises(BadPayload, match=r"headers\.at is of type datetime"):
        encode_headers({"at": datetime(2026, 1, 1)})
    with pytest.raises(PayloadTooLarge, match="The headers are over"):
        encode_headers({"x": "y" * 20_000})
    with pytest.raises(BadPayload, match=r"'emq-expires-at' begins with 'emq-'"):
        encode_headers({"emq-expires-at": "2026-01-01T00:00:00Z"})


def test_a_result_is_any_plain_json_value() -> None:
    assert encode_result(None) == "null"
    assert encode_result([1, {"a": (2,)}]) == '[1,{"a":[2]}]'
    with pytest.raises(BadPayload, match=r"result\.rows\[0\] is of type object"):
        encode_result({"rows": [object()]})
    with pytest.raises(PayloadTooLarge, match="The result is over 65,536 bytes"):
        encode_result("x" * 65_536)


@settings(max_examples=150)
@given(ANYTHING)
def test_any_result_can_be_stored_or_is_replaced_by_the_reason(value: Any) -> None:
    text = storable_result(value)
    stored = json.loads(text)
    try:
        assert text == encode_result(value)
    except BadPayload as error:
        assert list(stored) == [UNSTORABLE]
        assert stored[UNSTORABLE] == str(error)[:500]


def test_a_result_that_breaks_when_read_does_not_fail_the_job() -> None:
    class Broken(dict[str, int]):
        def items(self) -> Any:
            raise RuntimeError("no")

    stored = json.loads(storable_result([Broken(a=1)]))
    assert stored == {UNSTORABLE: "The result raised RuntimeError while it was read."}


def test_a_result_over_the_limit_is_replaced_by_a_small_marker() -> None:
    stored = json.loads(storable_result("x" * 100, limit=50))
    assert "over 50 bytes" in stored[UNSTORABLE]


def test_the_reason_in_the_marker_is_short() -> None:
    stored = json.loads(storable_result(type("X" * 5000, (), {})()))
    assert len(stored[UNSTORABLE]) == 500
