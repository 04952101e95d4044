"""Arguments and results as plain JSON: checked before anything is written, never pickled.

The payload of a job is one JSON object: its keyword arguments, and the positional ones under
the key "*" when there are any. What is accepted is what comes back: None, bool, int, float, str,
list and dict with string keys. Tuples become lists. PostgreSQL's jsonb keeps integers exactly,
does not keep the order of keys, and returns a whole float of 1e16 or more as an int.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from emq_sql.errors import BadPayload, PayloadTooLarge
from emq_sql.rules import names
from emq_sql.rules.plainjson import check, is_flat

PAYLOAD_LIMIT = 262_144
RESULT_LIMIT = 65_536
HEADERS_LIMIT = 16_384
POSITIONAL = "*"
UNSTORABLE = "emq_unstorable"
RESERVED = "emq-"

_WHY_LENGTH = 500
_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def encode(args: Sequence[Any], kwargs: Mapping[str, Any], limit: int = PAYLOAD_LIMIT) -> str:
    """The arguments as JSON text of at most `limit` bytes of UTF-8.

    Raises BadPayload, naming the path of the value (`order.items[3].price`, `*[0]` for the first
    positional argument), or PayloadTooLarge. Values are never quoted in an error.
    """
    if POSITIONAL in kwargs:
        what = f"A keyword argument is named {POSITIONAL!r}, which holds the positional ones."
        raise BadPayload(what, hint="Give the parameter another name.")
    document: dict[str, Any] = dict(kwargs)
    if args:
        document[POSITIONAL] = list(args)
    hint = "Store the data in a table or a file, and pass its key."
    return _dump(document, "", "The arguments", hint, limit)


def is_small(arguments: dict[str, Any], limit: int) -> bool:
    """Whether `encode` surely takes these keyword arguments, which is quicker to tell than to do.

    A character is six bytes of JSON at most, and the rest of so flat a document is little.
    """
    return limit >= PAYLOAD_LIMIT and is_flat(arguments, limit // 8)


def encode_array(rows: Sequence[Mapping[str, Any]]) -> str:
    """The payloads of jobs with these keyword arguments as one JSON array; `encode` or `is_small`
    has taken each of them.
    """
    return _JSON.encode(rows)


def each_of(array: str) -> list[str]:
    """The payloads of an `encode_array`, each as JSON text."""
    return [_JSON.encode(document) for document in json.loads(array)]


def decode(payload: object) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """(positional, keyword) arguments of a payload as jsonb hands it back.

    Raises BadPayload when it is not an object, or when "*" is not a list: a job that another
    program enqueued.
    """
    if not isinstance(payload, dict):
        what = f"The payload is not a JSON object but {_json_type(payload)}."
        raise BadPayload(what, hint="Enqueue an object of keyword arguments.")
    args = payload.get(POSITIONAL, [])
    if not isinstance(args, list):
        what = f"The key {POSITIONAL!r} of the payload is not a list but {_json_type(args)}."
        raise BadPayload(what, hint=f"Put the positional arguments under {POSITIONAL!r} as a list.")
    return tuple(args), {key: value for key, value in payload.items() if key != POSITIONAL}


def encode_headers(headers: Mapping[str, Any], limit: int = HEADERS_LIMIT) -> str:
    """The headers of a job as JSON text; raises BadPayload or PayloadTooLarge.

    Names that begin with `emq-` are refused: they mean something to emq_sql.
    """
    for name in headers:
        if isinstance(name, str) and name.startswith(RESERVED):
            what = f"The header {names.shown(name)} begins with {RESERVED!r}, which is reserved."
            raise BadPayload(what, hint="Give it another name; for an expiry use expires=...")
    hint = "Headers are for tracing and routing: put data into the arguments."
    return _dump(dict(headers), "headers", "The headers", hint, limit)


def encode_result(value: object, limit: int = RESULT_LIMIT) -> str:
    """A handler's result as JSON text; raises BadPayload (path `result...`) or PayloadTooLarge.

    For calls where the handler can still answer the error. To record the end of a job that has
    done its work, use `storable_result`.
    """
    hint = "Store the data in a table or a file, and return its key."
    return _dump(value, "result", "The result", hint, limit)


def storable_result(value: object, limit: int = RESULT_LIMIT) -> str:
    """A handler's result as JSON text, always: a finished job does not fail over its result.

    What cannot be stored becomes `{"emq_unstorable": "<why>"}`.
    """
    if value is None:
        return "null"
    try:
        return encode_result(value, limit)
    except BaseException as error:  # noqa: BLE001 - also what a subclass of dict raises when read
        why = f"{error}" if isinstance(error, (BadPayload, PayloadTooLarge)) else ""
        why = why or f"The result raised {type(error).__name__} while it was read."
        return json.dumps({UNSTORABLE: why[:_WHY_LENGTH]})


def _dump(document: object, root: str, subject: str, hint: str, limit: int) -> str:
    def too_large() -> PayloadTooLarge:
        verb = "is" if subject == "The result" else "are"
        return PayloadTooLarge(f"{subject} {verb} over {limit:,} bytes of JSON.", hint=hint)

    if not is_flat(document, limit):
        check(document, root, limit, too_large)
    text = _JSON.encode(document)
    if len(text if text.isascii() else text.encode()) > limit:
        raise too_large()
    return text


def _json_type(value: object) -> str:
    if value is None:
        return "null"
    names: dict[type, str] = {bool: "a boolean", str: "a string", list: "a list", dict: "an object"}
    return names.get(type(value), "a number")
