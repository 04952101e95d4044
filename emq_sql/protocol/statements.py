"""How the statements of a text of SQL begin: their first words, of each statement.

Strings, comments and bodies of functions are no statements. It is read as the server reads it with
`standard_conforming_strings` on. Nothing safe may rest on it alone: what a function does, or a text
that the server is asked to run in another way, is not seen here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_MOST_WORDS = 3  # rollback transaction to

_TOKEN = re.compile(
    r"""
    (?:\s|--[^\n]*)+
  | (?P<comment> /\*)
  | e'(?:[^'\\]|''|\\.)*'
  | '[^']*'
  | "[^"]*"
  | \$(?P<tag>(?:[^\W\d]\w*)?)\$ .*? \$(?P=tag)\$
  | (?P<word> [^\W\d][\w$]*)
  | (?P<sign> .)
    """,
    re.X | re.S | re.I,
)
_EDGE_OF_COMMENT = re.compile(r"/\*|\*/")


def beginnings(text: str) -> Iterator[str]:
    """The first words of each statement, in lower case and one blank apart."""
    words: list[str] = []
    told = False  # whether those of this statement were answered already
    parentheses = body = 0
    before = ""
    for at, part in _parts(text):
        if part == ";" and not parentheses and not body:
            if words and not told:
                yield " ".join(words)
            words, told = [], False
        elif part in "()":
            parentheses = max(0, parentheses + (1 if part == "(" else -1))
        elif part[0] == "_" or part[0].isalpha():
            body = _in_body(body, f"{before} {part}", words)
            if not told:
                words.append(part)
        before = part
        if len(words) == _MOST_WORDS and not told:
            yield " ".join(words)
            told = True
            if ";" not in text[at:]:
                return
    if words and not told:
        yield " ".join(words)


def _in_body(depth: int, two: str, words: list[str]) -> int:
    """How deep it is in `begin atomic ... end`, which has statements that are no statements."""
    if depth:
        return depth + two.endswith(" case") - two.endswith(" end")
    return int(two == "begin atomic" and words[:1] == ["create"])


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Words in lower case, and signs, each with the position after it."""
    at = 0
    while found := _TOKEN.match(text, at):
        at = found.end()
        if found["comment"]:
            at = _end_of_comment(text, at)
        elif found["word"] or found["sign"]:
            yield at, found[0].lower()


def _end_of_comment(text: str, at: int) -> int:
    depth = 1
    while depth:
        edge = _EDGE_OF_COMMENT.search(text, at)
        if edge is None:
            return len(text)
        depth += 1 if edge[0] == "/*" else -1
        at = edge.end()
    return at
