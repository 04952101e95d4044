"""The grammars of names: each function returns the name it was given, or raises BadName."""

from __future__ import annotations

import re

from emq_sql.errors import BadName
from emq_sql.rules.keywords import UNUSABLE_UNQUOTED

TASK_NAME_LENGTH = 200

_QUEUE = re.compile(r"[a-z0-9][a-z0-9_.:-]{0,62}")
_IDENTIFIER = re.compile(r"[a-z_][a-z0-9_]{0,39}")
_TAKEN_SCHEMAS = frozenset({"public", "information_schema"})
_TAKEN_SETTINGS = frozenset({"plpgsql"})

_QUEUE_RULE = (
    "a queue name has 1 to 63 characters out of a-z, 0-9, '_', '.', ':' and '-', "
    "and begins with a letter or a digit"
)
_TASK_RULE = (
    f"a task name has 1 to {TASK_NAME_LENGTH} printable characters and no space at either end"
)
_IDENTIFIER_RULE = "has 1 to 40 characters out of a-z, 0-9 and '_', and does not begin with a digit"


def queue_name(name: object) -> str:
    """A queue name: `[a-z0-9][a-z0-9_.:-]{0,62}`, the same grammar as the database checks.

    Raises BadName.
    """
    text = _string(name, "queue", _QUEUE_RULE, "'mail'")
    if not _QUEUE.fullmatch(text):
        hint = "Use lower case letters, for example 'mail' or 'reports.daily'."
        raise BadName(f"Queue name {shown(text)} is refused: {_QUEUE_RULE}.", hint=hint)
    return text


def task_name(name: object) -> str:
    """A task name: 1 to 200 printable characters (letters of any script), trimmed.

    It is only ever looked up in the registry of the application, never imported, so dotted
    Python paths are usual and not demanded. Raises BadName.
    """
    text = _string(name, "task", _TASK_RULE, "'mail.send'")
    if not 1 <= len(text) <= TASK_NAME_LENGTH or not text.isprintable() or text != text.strip():
        hint = "Give the task a name such as 'mail.send'."
        raise BadName(f"Task name {shown(text)} is refused: {_TASK_RULE}.", hint=hint)
    return text


def schema_name(name: object) -> str:
    """A schema name that is valid without quotes wherever the ledger's SQL names it.

    `[a-z_][a-z0-9_]{0,39}`; not PostgreSQL's own, not `public` or `plpgsql`, and no word of the
    SQL or PL/pgSQL languages that would need quotes there. Raises BadName.
    """
    rule = f"a schema name {_IDENTIFIER_RULE}"
    text = _string(name, "schema", rule, "'emq'")
    hint = "Choose another one, for example 'emq' or 'emq_mail'."
    if not _IDENTIFIER.fullmatch(text):
        raise BadName(f"Schema name {shown(text)} is refused: {rule}.", hint=hint)
    if text.startswith("pg_"):
        why = "names that begin with 'pg_' belong to PostgreSQL"
        raise BadName(f"Schema name {shown(text)} is refused: {why}.", hint=hint)
    if text in _TAKEN_SCHEMAS:
        why = "the ledger needs a schema of its own, which a downgrade may drop"
        raise BadName(f"Schema name {shown(text)} is refused: {why}.", hint=hint)
    if text in _TAKEN_SETTINGS:
        why = "PostgreSQL has settings that begin with it, and so has the ledger"
        raise BadName(f"Schema name {shown(text)} is refused: {why}.", hint=hint)
    if text in UNUSABLE_UNQUOTED:
        why = "it is a reserved word of PostgreSQL, which would need quotes everywhere"
        raise BadName(f"Schema name {shown(text)} is refused: {why}.", hint=hint)
    return text


def role_prefix(name: object) -> str:
    """A prefix of the four roles (`emq` makes `emq_producer` ...): `[a-z_][a-z0-9_]{0,39}`.

    Not one that makes names of PostgreSQL's own roles, `pg` or `pg_*`. Raises BadName.
    """
    rule = f"a role prefix {_IDENTIFIER_RULE}"
    text = _string(name, "role prefix", rule, "'emq'")
    hint = "Choose another one, for example 'emq'."
    if not _IDENTIFIER.fullmatch(text):
        raise BadName(f"Role prefix {shown(text)} is refused: {rule}.", hint=hint)
    if text == "pg" or text.startswith("pg_"):
        why = "role names that begin with 'pg_' belong to PostgreSQL"
        raise BadName(f"Role prefix {shown(text)} is refused: {why}.", hint=hint)
    return text


def shown(value: object, width: int = 60) -> str:
    """`repr` of a string or number cut to `width` characters; of anything else only its type.

    An error message must not fail, or grow without bound, over the value that it tells about.
    """
    if not isinstance(value, (str, int, float)):
        return f"of type {type(value).__name__}"
    if isinstance(value, int) and not -(10**width) < value < 10**width:
        return f"over 10**{width}" if value > 0 else f"below -10**{width}"
    text = ascii(str(value) if len(str(value)) <= width else str(value)[: width - 3] + "...")
    return text if isinstance(value, str) else text[1:-1]


def _string(name: object, noun: str, rule: str, example: str) -> str:
    if not isinstance(name, str):
        what = f"A {noun} name must be a string, not {type(name).__name__}: {rule}."
        raise BadName(what, hint=f"Give a string such as {example}.")
    return str(name)
