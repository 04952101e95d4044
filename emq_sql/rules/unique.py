"""Unique keys: what is said of one, and the key of a job with its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from emq_sql.errors import BadName, BadSetting
from emq_sql.job import UniqueKey
from emq_sql.rules import names
from emq_sql.rules.printable import storable

LONGEST = 500
LONGEST_SPAN = timedelta(days=365)

KeyOf = Callable[..., str | None]
While = Literal["unfinished", "waiting"]


@dataclass(frozen=True, slots=True)
class Unique:
    """The key, or a function that makes it of the arguments, and how long it is held."""

    key: str | KeyOf
    scope: Literal["unfinished", "waiting", "until"]
    span: timedelta | None

    def of(self, task: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> UniqueKey | None:
        """The key of a job with these arguments; None when the function says that it has none.

        Raises BadName for what is no key; what the function raises is not caught.
        """
        key = self.key(*args, **kwargs) if callable(self.key) else self.key
        if key is None:
            return None
        return UniqueKey(checked_key(key, f"The unique key of {task}"), self.scope, self.span)


def unique(key: str | KeyOf, during: object = None, span: timedelta | None = None) -> Unique:
    """What `unique_key`, `unique_while` and `unique_for` say together.

    Raises BadName or BadSetting.
    """
    if not callable(key):
        checked_key(key, "The unique key")
    if span is not None:
        if during is not None:
            raise BadSetting(
                "Both unique_while and unique_for were given.", hint="Give one of them."
            )
        if not timedelta(0) < span <= LONGEST_SPAN:
            raise BadSetting(
                "unique_for is longer than a year.", hint="Give more than 0 and at most 365 days."
            )
        return Unique(key, "until", span)
    if during is None or during == "unfinished":
        return Unique(key, "unfinished", None)
    if during == "waiting":
        return Unique(key, "waiting", None)
    raise BadSetting(
        f"unique_while={names.shown(during)} is none.", hint='Give "unfinished" or "waiting".'
    )


def checked_key(key: object, subject: str) -> str:
    """A key of 1 to 500 characters that PostgreSQL can store; raises BadName."""
    if not isinstance(key, str):
        raise BadName(f"{subject} is of type {type(key).__name__}.", hint="Give text.")
    if not 1 <= len(key) <= LONGEST:
        raise BadName(
            f"{subject} has {len(key)} characters.",
            hint=f"Give 1 to {LONGEST}; a digest of what is longer will do.",
        )
    if not storable(key):
        raise BadName(
            f"{subject} has a NUL character or half of a surrogate pair, which PostgreSQL cannot"
            " store.",
            hint="Leave it out.",
        )
    return key
