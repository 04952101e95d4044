"""The standard streams of a process that may have been started without them."""

from __future__ import annotations

import os
import sys
from typing import TextIO


def open_missing() -> None:
    """Open the null device on those of the descriptors 0 to 2 that are closed.

    Otherwise the next socket would get such a number, and what anybody prints would go there.
    Belongs before anything else that opens a descriptor.
    """
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != fd:
                os.dup2(opened, fd)
                os.close(opened)
            os.set_inheritable(fd, True)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 - it is for the whole process
    if sys.stdout is None:
        sys.stdout = _writing(1)
    if sys.stderr is None:
        sys.stderr = _writing(2)


def _writing(fd: int) -> TextIO:
    return open(fd, "w", errors="backslashreplace", closefd=False)
