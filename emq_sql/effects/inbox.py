"""Effects that are had once, whichever job or attempt has them."""

from __future__ import annotations

from sqlalchemy.engine import Connection

from emq_sql.effects.completion import must_be_in_transaction
from emq_sql.errors import BadSetting
from emq_sql.job import Lease
from emq_sql.protocol import settling
from emq_sql.protocol.speaking import speaker, speaker_of

LONGEST = 500


def once_in(handle: object, schema: str, lease: Lease, key: str) -> bool:
    """Whether the transaction of `handle` is the first with this key; rolled back, it never was.

    Waits, 5 s at most, for an open transaction that has the same key, and raises Retryable then.
    Raises BadSetting for a key that is none, UnsupportedHandle as in autocommit.
    """
    must_be_key(key)
    must_be_in_transaction(handle)
    return settling.once(speaker(handle), schema, lease, key)


def once_on(connection: Connection, schema: str, lease: Lease, key: str) -> bool:
    """The same on a Connection with any driver, in its transaction."""
    must_be_key(key)
    return settling.once(speaker_of(connection), schema, lease, key)


def must_be_key(key: object) -> None:
    """Raise BadSetting for what is no key: 1 to 500 characters that PostgreSQL can hold."""
    if not isinstance(key, str):
        raise BadSetting(f"A key of type {type(key).__name__} is none.", hint="Give a text.")
    if not 1 <= len(key) <= LONGEST:
        raise BadSetting(
            f"A key of {len(key)} characters is none.",
            hint=f"Give 1 to {LONGEST}; a digest of what is longer will do.",
        )
    if "\0" in key or any("\ud800" <= character <= "\udfff" for character in key):
        raise BadSetting(
            "A key has a NUL or half a character in it, which PostgreSQL cannot hold.",
            hint="Leave them out, or give a digest.",
        )
