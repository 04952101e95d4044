"""Which errors of a handler mean that another try cannot help."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from emq_sql.errors import BadSetting, Permanent

Exceptions = type[Exception] | Iterable[type[Exception]]


def permanent_classes(given: object) -> tuple[type[Exception], ...]:
    """The classes of a task's setting `permanent`: one, or some. Raises BadSetting.

    What is no Exception (SystemExit, a cancellation) is refused: it says nothing about the job.
    """
    several = tuple(given) if isinstance(given, (tuple, list, set, frozenset)) else (given,)
    for each in several:
        if not (isinstance(each, type) and issubclass(each, Exception)):
            what = f"permanent names {each!r}, which is no class of exceptions."
            raise BadSetting(what, hint="Give classes: permanent=(ValueError, KeyError).")
    return several


def is_permanent(error: BaseException, classes: tuple[type[Exception], ...]) -> bool:
    """Whether it is a Permanent or of one of these classes; a group, if each of its leaves is.

    Never raises: what cannot be judged is tried again.
    """
    try:
        return _is_permanent(error, (Permanent, *classes))
    except BaseException:  # noqa: BLE001 - a class of the application's own may raise when it is asked
        return False


def _is_permanent(error: Any, classes: tuple[type[Exception], ...]) -> bool:
    if issubclass(type(error), classes):
        return True
    if not issubclass(type(error), BaseExceptionGroup):
        return False
    leaves = error.exceptions
    return bool(leaves) and all(_is_permanent(leaf, classes) for leaf in leaves)
