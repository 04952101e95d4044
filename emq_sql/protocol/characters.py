"""Errors in characters that the database's encoding has: a failure is recorded whatever it says."""

from __future__ import annotations

_ANY_CHARACTER = ("UTF8", "SQL_ASCII")


def in_characters_of(encoding: str | None, error: str) -> str:
    """The error, in escapes where a database in this server_encoding may lack its characters."""
    if encoding in _ANY_CHARACTER:
        return error
    return error.encode("ascii", "backslashreplace").decode()
