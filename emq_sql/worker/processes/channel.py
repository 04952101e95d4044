"""Frames between a worker and its children: one JSON object each, over a socket.

Nothing is ever pickled, and what a child sends is checked: a child that writes anything else into
its channel is no longer trusted.
"""

from __future__ import annotations

import contextlib
import json
import threading
from multiprocessing.connection import Connection
from typing import Any

# Children send results and errors, whose sizes are limited, in escapes that make them longer.
LONGEST_FROM_CHILD = 4 * 1024 * 1024

Frame = dict[str, Any]


class ChannelEnded(Exception):
    """The other side is gone, and all that it had sent was read."""


class Rubbish(Exception):
    """What was read is no frame, or one that makes no sense here."""


class Channel:
    """One end. Any thread may send, one may receive."""

    def __init__(self, fd: int, longest: int | None = None) -> None:
        self._connection = Connection(fd)
        self._longest = longest
        self._lock = threading.Lock()

    def fileno(self) -> int:
        """For those who wait until there is something to receive."""
        return self._connection.fileno()

    def send(self, frame: Frame) -> None:
        """Send a frame; raises ChannelEnded, or what JSON says of a content that is none."""
        text = json.dumps(frame, separators=(",", ":")).encode()
        try:
            with self._lock:
                self._connection.send_bytes(text)
        except OSError as error:
            raise ChannelEnded(f"{error}") from error

    def receive(self) -> Frame:
        """The next frame; waits for it. Raises ChannelEnded or Rubbish."""
        try:
            sent = self._connection.recv_bytes(self._longest)
        except EOFError as error:
            raise ChannelEnded("the channel was closed") from error
        except OSError as error:
            if "message length" in f"{error}":
                raise Rubbish(f"{error}") from error
            raise ChannelEnded(f"{error}") from error
        try:
            frame = json.loads(sent)
        except (ValueError, RecursionError) as error:
            raise Rubbish(f"{error}") from error
        if not isinstance(frame, dict) or not isinstance(frame.get("kind"), str):
            raise Rubbish("a frame is an object that says its kind")
        return frame

    def close(self) -> None:
        """Close this end: the other one then reads that it is gone."""
        with contextlib.suppress(OSError):
            self._connection.close()
