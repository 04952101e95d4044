"""Text of others, made fit for terminals and logs; and whether PostgreSQL can hold it."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with what a terminal would obey, or could not show, as escapes; lines are kept.

    Names and errors are anybody's: a producer must not move an operator's cursor.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter == "\n" else _escape(letter) for letter in text
    )


def on_one_line(text: str) -> str:
    """The same, with the ends of lines as escapes too: no text can begin a line of its own."""
    return printable(text).replace("\n", "\\n")


def storable(text: str) -> bool:
    """Whether PostgreSQL's text can hold it: no NUL character, no lone surrogate."""
    return "\0" not in text and (
        text.isprintable() or not any("\ud800" <= letter <= "\udfff" for letter in text)
    )


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape", "surrogatepass").decode()
