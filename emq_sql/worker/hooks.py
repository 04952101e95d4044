"""Tracing that a handler has left on."""

from __future__ import annotations

import sys
import threading


class Hooks:
    """What traces and profiles the thread that makes this, and threads to come.

    A handler may set these and not take them back, or set one that raises: the next job is no
    business of theirs.
    """

    __slots__ = ("_new", "profile", "trace")

    def __init__(self) -> None:
        self.trace, self.profile = sys.gettrace(), sys.getprofile()
        self._new = threading.gettrace(), threading.getprofile()

    def put_back(self) -> None:
        """Set everything as it was; in the thread that made this.

        After a coroutine its caller sets `trace` and `profile` itself before that: no function
        should be called under what was left on.
        """
        if sys.gettrace() is not self.trace:
            sys.settrace(self.trace)
        if sys.getprofile() is not self.profile:
            sys.setprofile(self.profile)
        trace, profile = self._new
        if threading.gettrace() is not trace:
            threading.settrace(trace)
        if threading.getprofile() is not profile:
            threading.setprofile(profile)
