"""Measures one file: its digest, its lines and, for Python, its definitions."""

from __future__ import annotations

import ast
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass

# A parse holds the interpreter's lock from beginning to end, and with it the thread that extends
# leases: a file of this size takes well under half a second.
LARGEST_PARSED = 512 * 1024
_CHUNK = 256 * 1024
_SLOW_PIECES = 16


@dataclass(frozen=True, slots=True)
class Measured:
    """What was found; the counts of definitions are None for what is no Python.

    `error` says why a file could not be read (nothing else is known then) or parsed.
    """

    size: int | None = None
    sha256: str | None = None
    lines: int | None = None
    functions: int | None = None
    classes: int | None = None
    error: str | None = None


def measure(path: bytes, pause: float = 0.0) -> Measured:
    """Read the file once, from its beginning to its end, in constant memory.

    With `pause` it is read in sixteen pieces with so many seconds before each. What goes wrong with
    the file is part of the answer; nothing is raised for it.
    """
    digest, size, newlines, last = hashlib.sha256(), 0, 0, b""
    source: bytearray | None = bytearray() if path.endswith(b".py") else None
    try:
        for chunk in _chunks(path, pause):
            digest.update(chunk)
            size += len(chunk)
            newlines += chunk.count(b"\n")
            last = chunk[-1:] or last
            if source is not None:
                source += chunk
                if size > LARGEST_PARSED:
                    source = None
    except OSError as trouble:
        return Measured(error=f"{type(trouble).__name__}: {trouble.strerror}")
    lines = newlines + (last not in {b"", b"\n"})
    functions = classes = error = None
    if source is not None:
        functions, classes, error = _definitions(bytes(source))
    return Measured(size, digest.hexdigest(), lines, functions, classes, error)


def _chunks(path: bytes, pause: float) -> Iterator[bytes]:
    # Neither a link nor a pipe that took the file's place since it was found is followed.
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        seen = os.fstat(file)
        if not stat.S_ISREG(seen.st_mode):
            raise OSError(0, "no regular file any more")
        if pause:
            piece = min(seen.st_size // _SLOW_PIECES + 1, _CHUNK)
            for _ in range(_SLOW_PIECES):
                time.sleep(pause)
                yield os.read(file, piece)
        while chunk := os.read(file, _CHUNK):
            yield chunk
    finally:
        os.close(file)


def _definitions(source: bytes) -> tuple[int | None, int | None, str | None]:
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as trouble:
        return None, None, f"{type(trouble).__name__}: {_plain(str(trouble))}"
    functions = sum(isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) for node in nodes)
    return functions, sum(isinstance(node, ast.ClassDef) for node in nodes), None


def _plain(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")[:200]
