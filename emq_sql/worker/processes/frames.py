"""What the frames say of jobs and of how runs ended, as plain JSON and back."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, get_args
from uuid import UUID

from emq_sql.job import Claimed, Lease, SettleAnswer, Verb
from emq_sql.rules.verdict import (
    ERROR_LIMIT,
    Completed,
    Failed,
    Reason,
    first_line,
    shortened,
    storable,
)
from emq_sql.worker.endings import CompletedByHandler, Ending, RefusedInHandler
from emq_sql.worker.processes.channel import Rubbish

SPEAKS = 3  # grows when a frame changes: a child of another version of emq_sql is not understood

_OF_A_CHILD: dict[object, Reason] = {"exception": "exception", "permanent": "permanent"}

_COMMITTED = (None, *get_args(SettleAnswer))
_VERBS = get_args(Verb)

_MICROSECOND = timedelta(microseconds=1)


def job_content(claimed: Claimed) -> dict[str, Any]:
    """A claimed job, for the child that runs it."""
    lease = claimed.lease
    return {
        "id": str(lease.id),
        "fence": lease.fence,
        "attempts": lease.attempts,
        "deadline": lease.lease_deadline.isoformat(),
        "lease": microseconds(lease.lease),
        "queue": claimed.queue,
        "task": claimed.task,
        "payload": claimed.payload,
        "headers": claimed.headers,
        "stalled": claimed.stalled,
        "failures": claimed.failures,
        "enqueued_at": claimed.enqueued_at.isoformat(),
    }


def job_of(content: dict[str, Any]) -> Claimed:
    """The job that `job_content` told."""
    lease = Lease(
        UUID(content["id"]),
        content["fence"],
        content["attempts"],
        datetime.fromisoformat(content["deadline"]),
        timedelta(microseconds=content["lease"]),
    )
    return Claimed(
        lease,
        content["queue"],
        content["task"],
        content["payload"],
        content["headers"],
        content["stalled"],
        content["failures"],
        datetime.fromisoformat(content["enqueued_at"]),
    )


def ending_content(ending: Ending) -> dict[str, Any]:
    """How a run ended, for the parent."""
    if isinstance(ending, Completed):
        return {"how": "completed", "result": ending.result}
    if isinstance(ending, Failed):
        return {"how": "failed", **failed_content(ending)}
    if isinstance(ending, CompletedByHandler):
        own = {"raised": ending.raised, "verb": ending.verb, "committed": ending.committed}
        return {"how": "own", **own, **failed_content(ending.failed)}
    if isinstance(ending, RefusedInHandler):
        return {"how": "refused", **failed_content(ending.failed)}
    raise TypeError(f"no run in a child ends by itself as {type(ending).__name__}")


def ending_of(content: dict[str, Any]) -> Ending:
    """The ending that `ending_content` told; raises Rubbish for what it never tells."""
    how = content.get("how")
    try:
        if how == "completed":
            return Completed(_text(content["result"]))
        if how == "failed":
            return failed_of(content)
        if how == "own":
            return _own_of(content)
        if how == "refused":
            return RefusedInHandler(failed_of(content))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise Rubbish(f"an ending that is none: {error!r}") from error
    raise Rubbish("an ending of no kind")


def microseconds(length: timedelta) -> int:
    """A duration as JSON keeps it exactly."""
    return length // _MICROSECOND


def _own_of(content: dict[str, Any]) -> CompletedByHandler:
    verb, committed = content["verb"], content["committed"]
    if verb not in _VERBS or committed not in _COMMITTED:
        raise ValueError("no such end")
    raised = content["raised"] is True
    return CompletedByHandler(failed_of(content), raised, verb, committed)


def failed_content(failed: Failed) -> dict[str, Any]:
    """A failure, for the parent."""
    return {
        "error": failed.error, "delay": microseconds(failed.delay), "headline": failed.headline,
        "reason": failed.reason,
    }  # fmt: skip


def failed_of(content: dict[str, Any]) -> Failed:
    """The failure that `failed_content` told."""
    error = shortened(storable(_text(content["error"])), ERROR_LIMIT)
    headline = first_line(_text(content.get("headline", "")))
    # Of what else may end a run the worker decides.
    reason = _OF_A_CHILD[_text(content["reason"])]
    return Failed(error, timedelta(microseconds=content["delay"]), headline, reason)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise TypeError(f"{type(value).__name__} instead of text")
