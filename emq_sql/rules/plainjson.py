"""Is a value plain JSON that PostgreSQL can hold? If not: where, why, and what to do."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from uuid import UUID

from emq_sql.errors import BadPayload, EmqError
from emq_sql.rules.names import shown

DEEPEST = 100
# No Python can be set to read fewer digits than these, so every worker can read them.
MOST_DIGITS = 640

_FEW = 100
_SMALL = 1 << 63
_LARGEST_INT = 10**MOST_DIGITS
_SURROGATE = re.compile("[\ud800-\udfff]")
_AS_TEXT = "Pass text, such as {}, and convert it back in the task."

_REMEDIES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (datetime, _AS_TEXT.format("value.isoformat()")),
    ((date, time), _AS_TEXT.format("value.isoformat()")),
    (timedelta, "Pass seconds, such as value.total_seconds(), and convert it back in the task."),
    ((Decimal, UUID), _AS_TEXT.format("str(value)")),
    ((bytes, bytearray, memoryview), _AS_TEXT.format("base64.b64encode(value).decode()")),
    ((set, frozenset), "Pass a list, such as sorted(value)."),
    (Enum, "Pass its value: member.value."),
    (complex, "Pass a list of two floats."),
)


def is_flat(value: object, limit: int) -> bool:
    """Whether it is surely plain JSON: a dict of short texts and small numbers, as most arguments
    are. Of all else `check` finds out.
    """
    if type(value) is not dict or len(value) > _FEW:
        return False
    left = limit
    for key, item in value.items():
        if type(key) is not str or not key.isascii() or "\0" in key:
            return False
        left -= len(key)
        kind = type(item)
        if kind is str:
            if not item.isascii() or "\0" in item:
                return False
            left -= len(item)
        elif not (item is None or kind is bool or (kind is int and -_SMALL < item < _SMALL)):
            return False
    return left > 0


def check(value: object, path: str, limit: int, too_large: Callable[[], EmqError]) -> None:
    """Nothing, when the value is plain JSON; else raises BadPayload with the path, or `too_large`.

    The walk stops as soon as the JSON must be over `limit` bytes, so that a small structure that
    names one list many times over cannot keep it busy.
    """
    _Walk(limit, too_large).visit(value, path)


class _Walk:
    def __init__(self, limit: int, too_large: Callable[[], EmqError]) -> None:
        self._left = limit
        self._too_large = too_large
        self._open: set[int] = set()

    def visit(self, value: object, path: str) -> None:
        if value is None or isinstance(value, bool):
            self._spend(4)
        elif isinstance(value, str):
            self._text(value, _at(path))
        elif isinstance(value, int):
            self._spend(1)
            if not -_LARGEST_INT < value < _LARGEST_INT:
                what = f"{_at(path)} is an int of more than {MOST_DIGITS} digits."
                raise BadPayload(what, hint="Pass it as text.")
        elif isinstance(value, float):
            self._spend(3)
            if not math.isfinite(value):
                what = f"{_at(path)} is {float(value)}, which JSON has no word for."
                raise BadPayload(what, hint="Pass None, or leave the argument out.")
        elif isinstance(value, (list, tuple, dict)):
            self._container(value, path)
        else:
            raise _refusal(value, path)

    def _container(
        self, value: list[object] | tuple[object, ...] | dict[object, object], path: str
    ) -> None:
        if id(value) in self._open:
            what = f"{_at(path)} contains itself."
            raise BadPayload(what, hint="Pass ids in place of the inner references.")
        if len(self._open) >= DEEPEST:
            what = f"{_at(path)} is nested more than {DEEPEST} levels deep."
            raise BadPayload(what, hint="Flatten the data.")
        self._spend(2)
        self._open.add(id(value))
        if isinstance(value, dict):
            for key, item in value.items():
                self._key(key, path)
                self.visit(item, _member(path, str(key)))
        else:
            for place, item in enumerate(value):
                self.visit(item, f"{path}[{place}]")
        self._open.discard(id(value))

    def _key(self, key: object, path: str) -> None:
        if not isinstance(key, str):
            given = shown(key) if isinstance(key, (int, float)) else f"a {type(key).__name__}"
            what = f"{_at(path)} has a key that is no string: {given}."
            raise BadPayload(what, hint="Use str(key), or a list of pairs.")
        self._text(key, f"A key of {_at(path, first=False)}")

    def _text(self, text: str, where: str) -> None:
        self._spend(len(text) + 2)
        if "\0" in text:
            what = f"{where} holds a NUL character at position {text.index(chr(0))}."
            raise BadPayload(what, hint="PostgreSQL cannot store it: remove it, or use base64.")
        if not text.isascii() and (found := _SURROGATE.search(text)):
            what = (
                f"{where} holds the lone surrogate U+{ord(found.group()):04X} "
                f"at position {found.start()}."
            )
            hint = "It is no character: decode the bytes with errors='replace', or use base64."
            raise BadPayload(what, hint=hint)

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise self._too_large()


def _refusal(value: object, path: str) -> BadPayload:
    for kinds, remedy in _REMEDIES:
        if isinstance(value, kinds):
            hint = remedy
            break
    else:
        hint = "Pass plain data, for example the key of a row, and load the object in the task."
    return BadPayload(f"{_at(path)} is of type {type(value).__name__}, not plain JSON.", hint=hint)


def _member(path: str, key: str) -> str:
    if key.isidentifier() or (key == "*" and not path):
        return f"{path}.{key}" if path else key
    return f"{path}[{shown(key)}]"


def _at(path: str, *, first: bool = True) -> str:
    shortened = path if len(path) <= 120 else f"{path[:80]}...{path[-37:]}"
    if not shortened:
        return "The payload" if first else "the payload"
    return shortened
