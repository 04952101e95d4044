"""File names as text that JSON and PostgreSQL can hold, whatever bytes they are."""

from __future__ import annotations

import os
import re

_ESCAPE = re.compile(r"\\(\\|x[0-9a-f]{2})")


def written(path: str | bytes) -> str:
    """The path as text: UTF-8 as it is, any other byte as `\\xNN`, a backslash twice.

    `real` undoes it exactly. A name that is no UTF-8 comes from the system with lone surrogates,
    which neither JSON in PostgreSQL nor a terminal can show.
    """
    return os.fsencode(path).replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")


def real(text: str) -> bytes:
    """The path that `written` made this text of, as the system's bytes."""
    path, at = bytearray(), 0
    for found in _ESCAPE.finditer(text):
        path += text[at : found.start()].encode()
        path += b"\\" if found[1] == "\\" else bytes.fromhex(found[1][1:])
        at = found.end()
    return bytes(path + text[at:].encode())


def shown(text: str, width: int = 60) -> str:
    """A written path for one line of a terminal: no control characters, its end when too long."""
    plain = "".join(letter if letter.isprintable() else "?" for letter in text)
    return plain if len(plain) <= width else f"…{plain[1 - width :]}"
