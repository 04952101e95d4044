"""Holds a verb still between its snapshot and its row locks, so that a race has one order.

The function is replaced in the test's own database by itself with one more step: it waits for an
advisory lock that the test holds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from tests.protocol.calls import Ledger

T = TypeVar("T")

GATE = 42
_BEFORE = "from k\n     cross join lateral (select"
_WITHIN = (
    f"from (select k.*, pg_advisory_xact_lock_shared({GATE}) from k offset 0) k"
    "\n     cross join lateral (select"
)


class Call(Generic[T]):
    """A call in a thread of its own."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._got: list[T] = []
        self._error: list[BaseException] = []
        self._call = call
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._got.append(self._call())
        except BaseException as error:
            self._error.append(error)

    def result(self) -> T:
        self._thread.join(30)
        assert not self._thread.is_alive(), "the call did not come back"
        if self._error:
            raise self._error[0]
        return self._got[0]


def open_gap(ledger: Ledger, function: str) -> None:
    """From now on the function waits between its snapshot and its row locks."""
    definition = ledger.one("select pg_get_functiondef(%s::regproc)", f"emq.{function}")
    assert _BEFORE in definition
    ledger.run(definition.replace(_BEFORE, _WITHIN))


@contextmanager
def held_in_gap(ledger: Ledger, caller: Ledger, call: Callable[[], T]) -> Iterator[Call[T]]:
    """The call of `caller` stands in the gap while the block runs, and goes on after it."""
    pid = caller.one("select pg_backend_pid()")
    caller.run("set lock_timeout = '30s'")
    ledger.run("select pg_advisory_lock(%s)", GATE)
    try:
        running = Call(call)
        ledger.wait(
            "exists (select from pg_locks"
            " where pid = %s and locktype = 'advisory' and not granted)",
            pid,
        )
        yield running
    finally:
        ledger.run("select pg_advisory_unlock(%s)", GATE)
