"""Bounds how long a call waits: a connection that died without a word never answers.

A process that is gone, or a network that tells nobody, ends no `recv`: TCP may wait for hours. So
one thread looks at the calls that are under way, and ends those that are past their limit.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
import weakref
from typing import Any

import psycopg

LOOK_EVERY = 0.5
CANCEL_PATIENCE = 3.0  # seconds in which a cancelled statement should have answered, at most

_NEVER = float("inf")


class CallLimit:
    """Bounds the calls on one connection, one at a time.

    A call past its limit is cancelled on the server first: one that is merely slow must not stay
    there, waiting for a lock, while it is asked again on another connection. When not even that is
    answered the connection is broken, and the call ends as one whose outcome is unknown.
    """

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        # A duplicate: the number of a descriptor that was closed may be another socket's by now.
        self._socket = socket.socket(fileno=os.dup(connection.fileno()))
        self._lock = threading.Lock()
        self._since = _NEVER
        self._limit = _NEVER
        self._grace = _NEVER
        self._cancelled = False
        self._canceller: threading.Thread | None = None
        _sentry.watch(self)

    def begin(self, limit: float) -> None:
        """A call begins, which may take `limit` seconds."""
        with self._lock:
            self._since, self._limit, self._cancelled = time.monotonic(), limit, False
            self._grace, self._canceller = _NEVER, None

    def end(self) -> None:
        """It has ended, in whichever way."""
        with self._lock:
            self._since = _NEVER

    @property
    def over(self) -> bool:
        """Whether the newest call was ended because it was past its limit."""
        return self._cancelled

    @property
    def waits(self) -> float:
        """Seconds since the call under way has begun; 0 when there is none."""
        return max(0.0, time.monotonic() - self._since)

    def shorten(self, limit: float) -> None:
        """The call under way, if there is one, may take no longer than this in all."""
        self._limit = min(self._limit, limit)  # without the lock: signal handlers come here

    def cut(self, grace: float) -> None:
        """The call under way ends now, and the connection with it if its server says nothing to
        that within `grace` seconds.
        """
        self._grace = grace
        self.shorten(self.waits)

    def settle(self) -> None:
        """Let a cancellation that came too late for its call reach the server before the next."""
        if (canceller := self._canceller) is not None:
            canceller.join(CANCEL_PATIENCE)

    def close(self) -> None:
        """No call begins any more; the connection is closed by its owner."""
        self.end()
        self._socket.close()

    def look(self, now: float) -> None:
        """End the call if it is past its limit."""
        with self._lock:
            over = now - self._since - self._limit
            if over > 0 and not self._cancelled:
                self._cancelled = True
                self._canceller = threading.Thread(
                    target=self._cancel, name="emq-cancel", daemon=True
                )
                self._canceller.start()
            elif over > min(CANCEL_PATIENCE, self._limit / 2, self._grace):
                with contextlib.suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)

    def _cancel(self) -> None:
        # In a thread of its own: an older libpq waits here for as long as the network makes it.
        with contextlib.suppress(psycopg.Error):
            self._connection.cancel_safe(timeout=CANCEL_PATIENCE)


class _Sentry:
    """The one thread of this process that looks; started when it is needed, also after a fork."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: weakref.WeakSet[CallLimit] = weakref.WeakSet()
        self._thread: threading.Thread | None = None

    def watch(self, calls: CallLimit) -> None:
        with self._lock:
            self._watched.add(calls)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="emq-sentry", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            time.sleep(LOOK_EVERY)
            with self._lock:
                watched = list(self._watched)
            for calls in watched:
                calls.look(time.monotonic())


_sentry = _Sentry()
