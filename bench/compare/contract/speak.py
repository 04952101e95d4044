"""speak.py serve|work: the adapter of a peer, whose directory is on the path, speaks."""

from __future__ import annotations

import adapter
import wire

wire.main(adapter.Peer)
