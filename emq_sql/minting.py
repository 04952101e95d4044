"""The process-wide mint of job ids."""

from __future__ import annotations

import os
import time
from uuid import UUID

from emq_sql.rules.ids import Mint

_POOL = 2048  # bytes


class _Bits:
    """Random bits from the kernel, fetched for many ids at once. Used under the mint's lock."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """A forked child must not draw what its parent draws."""
        self._bytes = b""
        self._at = 0

    def __call__(self, n: int) -> int:
        length = (n + 7) // 8
        if self._at + length > len(self._bytes):
            self._bytes, self._at = os.urandom(max(length, _POOL)), 0
        drawn = self._bytes[self._at : self._at + length]
        self._at += length
        return int.from_bytes(drawn) & ((1 << n) - 1)


_bits = _Bits()
_mint = Mint(lambda: time.time_ns() // 1_000_000, _bits)


def _forked() -> None:
    _bits.forget()
    _mint.reseed()


os.register_at_fork(after_in_child=_forked)


def new_ids(count: int) -> list[UUID]:
    """As many new UUIDv7s, as `new_id` makes them."""
    return _mint.many(count)


def new_id() -> UUID:
    """A new UUIDv7, above all that this process made before; safe in threads and after a fork."""
    return _mint()
