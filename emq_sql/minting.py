"""The process-wide mint of job ids."""

from __future__ import annotations

import os
import secrets
import time
from uuid import UUID

from emq_sql.rules.ids import Mint

_mint = Mint(lambda: time.time_ns() // 1_000_000, secrets.randbits)
os.register_at_fork(after_in_child=_mint.reseed)


def new_id() -> UUID:
    """A new UUIDv7, above all that this process made before; safe in threads and after a fork."""
    return _mint()
