"""Whether arguments fit a function: found out once for each shape of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

MOST = 1000  # of a function that takes any keywords


class Shapes:
    """The shapes (how many, which names) that one function is known to take."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: set[tuple[int, frozenset[str]]] = set()

    def misfit(
        self, signature: Callable[[], inspect.Signature | None], leading: int,
        args: Sequence[Any], kwargs: Mapping[str, Any],
    ) -> TypeError | None:  # fmt: skip
        """Why the function could not be called with these, after `leading` others; None if it
        could, or has no signature. `signature` is asked for a shape that is not known.
        """
        shape = len(args), frozenset(kwargs)
        if shape in self._known:
            return None
        found = signature()
        if found is None:
            return None
        try:
            found.bind(*(None for _ in range(leading)), *args, **kwargs)
        except TypeError as error:
            return error
        if len(self._known) < MOST:
            self._known.add(shape)
        return None
