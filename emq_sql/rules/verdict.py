"""What a run that ended means for its job: completed with a result, or failed with a delay.

Whether a failed job runs again or becomes a dead letter is not decided here: the database counts
its failures and lost leases in the same statement that puts it back.
"""

from __future__ import annotations

import contextlib
import random
import re
import traceback
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from emq_sql.rules.backoff import DEFAULT, Policy, delay
from emq_sql.rules.payload import RESULT_LIMIT, storable_result
from emq_sql.rules.printable import on_one_line

ERROR_LIMIT = 8_192
HEADLINE_LIMIT = 300

Reason = Literal["exception", "timeout", "permanent", "expired", "no handler"]

_UNSTORABLE_TEXT = re.compile("[\0\ud800-\udfff]")
_TAIL_SHARE = 0.6  # the end of a traceback says most: the innermost calls and the exception


@dataclass(frozen=True, slots=True)
class Completed:
    """The handler returned; `result` is JSON text, storable in any case."""

    result: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The job was not done: the handler raised, or could not be called; `error` tells about it.

    `delay` is the wait before it is tried again, if the database says that it is: not for a reason
    that is `permanent` or `expired`. `headline` is the one line that a log has room for.
    """

    error: str
    delay: timedelta
    headline: str = ""
    reason: Reason = "exception"


Verdict = Completed | Failed


def returned(value: object, limit: int = RESULT_LIMIT) -> Completed:
    """The verdict on a handler that returned: completed, whatever the value is.

    A value that is no plain JSON, or is over `limit` bytes, is replaced by a marker that says why:
    the work is done, and must not be done again over its answer.
    """
    return Completed(storable_result(value, limit))


def raised(
    error: BaseException, failures: int, policy: Policy | None, rng: random.Random,
    reason: Reason = "exception",
) -> Failed:  # fmt: skip
    """The verdict on a handler that raised, after `failures` earlier failures (0 or more).

    Never raises: when a custom backoff fails, the job waits by the default one, and its error
    says so too. A permanent failure waits for nothing.
    """
    text = error_text(error)
    if reason == "permanent":
        return Failed(text, timedelta(0), headline(error), reason)
    return _waiting(text, headline(error), failures, policy, rng, reason)


def wanted(
    error: object, wait: timedelta | None, failures: int, policy: Policy | None, rng: random.Random
) -> Failed:
    """The verdict on a handler that wants another try, after `wait`, or as after an exception.

    `error` is an exception, a text, or None. Never raises.
    """
    if isinstance(error, BaseException):
        text, line = error_text(error), headline(error)
    else:
        said = storable("The handler wanted another try." if error is None else str(error))
        text, line = shortened(said, ERROR_LIMIT), first_line(said)
    if wait is not None:
        return Failed(text, wait, line)
    return _waiting(text, line, failures, policy, rng, "exception")


def _waiting(
    text: str, line: str, failures: int, policy: Policy | None, rng: random.Random, reason: Reason
) -> Failed:
    try:
        wait = delay(policy, failures + 1, rng)
    except BaseException as trouble:  # noqa: BLE001 - the function is the application's own
        wait = delay(DEFAULT, failures + 1, rng)
        note = storable(f"The backoff raised {_summary(trouble)[:300]}; the default one is used.\n")
        text = note + shortened(text, ERROR_LIMIT - len(note.encode()))
    return Failed(text, wait, line, reason)


def gave_up(what: str, reason: Reason, delay: timedelta = timedelta(0)) -> Failed:
    """The verdict on a job whose handler was not called, for this reason."""
    text = storable(what)
    return Failed(shortened(text, ERROR_LIMIT), delay, first_line(text), reason)


def error_text(error: BaseException, limit: int = ERROR_LIMIT) -> str:
    """The traceback as text that PostgreSQL can hold, in at most `limit` bytes of UTF-8.

    Its beginning and end are kept. NUL characters and lone surrogates become U+FFFD. The
    traceback module reads the lines of source that it shows, which is all the I/O there is.
    """
    try:
        text = "".join(traceback.format_exception(error))
    except BaseException:  # noqa: BLE001 - an exception may break the very code that prints it
        text = f"{_summary(error)}\n(its traceback could not be printed)\n"
    return shortened(storable(text), limit)


def headline(error: BaseException) -> str:
    """The type of an exception and the first line of what it says, printable, on one line.

    Of a chain that is the exception which arrived; a group names its first one too. Never raises.
    """
    said = _headline(error)
    if issubclass(type(error), BaseExceptionGroup):
        with contextlib.suppress(BaseException):  # a class of the application's own
            first = _headline(error.exceptions[0])  # type: ignore[attr-defined]
            said = f"{said[: HEADLINE_LIMIT // 2]}; the first is {first}"
    return first_line(said)


def first_line(text: str) -> str:
    """The first line of a text that is not blank, as `headline` has it."""
    line = next((line for line in text.splitlines() if line.strip()), "").strip()
    return on_one_line(storable(line[:HEADLINE_LIMIT]))[:HEADLINE_LIMIT]


def storable(text: str) -> str:
    """The text with what PostgreSQL refuses (NUL, lone surrogates) replaced by U+FFFD."""
    return _UNSTORABLE_TEXT.sub("\ufffd", text)


def shortened(text: str, limit: int) -> str:
    """The text in at most `limit` bytes of UTF-8: whole, or its head and tail and what is missing.

    `limit` is 100 at least, so that there is room to say so.
    """
    encoded = text.encode()
    if len(encoded) <= limit:
        return text
    room = limit - len(_gap(len(encoded)).encode())
    tail = int(room * _TAIL_SHARE)
    head = room - tail
    gap = _gap(len(encoded) - room)
    # A character cut in two is left out, so the text may end up a few bytes shorter than it could.
    first = encoded[:head].decode(errors="ignore")
    last = encoded[len(encoded) - tail :].decode(errors="ignore")
    return f"{first}{gap}{last}"


def _gap(size: int) -> str:
    return f"\n... {size:,} bytes left out ...\n"


def _headline(error: BaseException) -> str:
    kind = type(error)
    name = kind.__qualname__
    if kind.__module__ not in {"builtins", "__main__"}:
        name = f"{kind.__module__}.{name}"
    try:
        said = first_line(str(error))
    except BaseException:  # noqa: BLE001 - a broken __str__ must not hide which error it was
        said = ""
    return f"{name}: {said}" if said else name


def _summary(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except BaseException:  # noqa: BLE001 - a broken __str__ must not hide which error it was
        return type(error).__name__
