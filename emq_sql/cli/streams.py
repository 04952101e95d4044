"""The standard streams of a process: they may be missing, and what is written may find no room."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

import click


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


@contextmanager
def told_when_full() -> Iterator[None]:
    """A standard stream that takes no more (a full disk) ends the program in this block with one
    sentence and exit code 1, and one that nobody reads any more without a word. Whatever else
    raises an OSError is left alone.
    """
    try:
        try:
            yield
        finally:
            if not sys.stdout.closed:  # a handler may have done so
                sys.stdout.flush()
    except OSError as error:
        stuck = [stream for stream in (sys.stdout, sys.stderr) if _is_stuck(stream)]
        if not stuck and not _of_echo(error):
            raise
        for stream in stuck:
            _give_up(stream)
        if error.errno != errno.EPIPE:
            with suppress(OSError):
                said = f"emq: the output cannot be written: {error.strerror}"
                print(said, file=sys.stderr, flush=True)
            if _is_stuck(sys.stderr):
                _give_up(sys.stderr)
        raise SystemExit(1) from None


def _of_echo(error: OSError) -> bool:
    """Whether it was raised by a stream that keeps nothing, as with PYTHONUNBUFFERED."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at is not None and at.tb_frame.f_code is click.echo.__code__


def _is_stuck(stream: TextIO) -> bool:
    # What could not be written is kept, and tried again by the next flush.
    try:
        if not stream.closed:
            stream.flush()
    except OSError:
        return True
    return False


def _give_up(stream: TextIO) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())  # so that the interpreter's last flush has nothing to tell
    os.close(null)
    stream.flush()


def _writing(fd: int) -> TextIO:
    return open(fd, "w", errors="backslashreplace", closefd=False)
