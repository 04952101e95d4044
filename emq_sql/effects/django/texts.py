"""What is sent through a cursor of Django's, and what it keeps of that."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from emq_sql.protocol import statements


def beginnings_of(text: Any, driver: Any) -> list[str]:
    """How the statements of a text begin, whatever it was made of; none of what is no text."""
    if hasattr(text, "as_string"):  # composed, by either driver
        text = text.as_string(driver)
    if isinstance(text, bytes | bytearray):
        text = text.decode("latin-1")  # the words that count are ASCII in every encoding
    return list(statements.beginnings(text)) if isinstance(text, str) else []


def takes_two(cursor: Any, text: Any) -> bool:
    """Whether the cursor sends all as one text, and shows the first answer: psycopg 3, when it is
    the client that binds the parameters.
    """
    if not isinstance(text, str | bytes | sql.Composable):
        return False
    ours = isinstance(cursor, psycopg.ClientCursor)
    return ours and isinstance(getattr(cursor, "_results", None), list)


def joined(text: str | bytes | sql.Composable, more: str) -> Any:
    """One text of both."""
    if isinstance(text, str):
        return text + more
    return text + more.encode() if isinstance(text, bytes) else text + sql.SQL(more)


def only_its_own(cursor: Any, more: str) -> bool:
    """Take back the last answer, and the text that it was the answer to: `nextset()` and the log of
    queries show what the application has sent. False if there is no other answer.
    """
    sent = getattr(cursor, "_query", None)
    if sent is not None and sent.query.endswith(more.encode()):
        sent.query = sent.query[: -len(more.encode())]
    if len(cursor._results) > 1:  # psycopg has no other way
        del cursor._results[-1]
        return True
    return False
