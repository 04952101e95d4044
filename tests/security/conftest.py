"""The session in which each statement commits."""

from __future__ import annotations

from tests.protocol.conftest import ledger

__all__ = ["ledger"]
