"""Waking a thread that waits for a child to say something."""

from __future__ import annotations

import contextlib
import socket


class Waker:
    """Its `fileno` is readable once somebody has called `wake`, which never waits or locks."""

    def __init__(self) -> None:
        self._sleeper, self._waker = socket.socketpair()
        for end in (self._sleeper, self._waker):
            end.setblocking(False)

    def fileno(self) -> int:
        """For the thread that waits."""
        return self._sleeper.fileno()

    def wake(self) -> None:
        """Let it look; from any thread."""
        with contextlib.suppress(BlockingIOError):  # it has been woken often enough
            self._waker.send(b"\0")

    def woken(self) -> None:
        """It looks."""
        with contextlib.suppress(BlockingIOError):
            while self._sleeper.recv(4096):
                pass
