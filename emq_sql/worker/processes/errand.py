"""One run in a child, as its worker keeps it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta
from time import monotonic
from typing import Any, get_args

from emq_sql.job import KeepAnswer, Verb
from emq_sql.rules.verdict import Failed
from emq_sql.worker.endings import Ending, Snoozed
from emq_sql.worker.entry import Entry
from emq_sql.worker.executor import Ended
from emq_sql.worker.grip import standing
from emq_sql.worker.held import Held
from emq_sql.worker.processes.channel import Frame, Rubbish
from emq_sql.worker.processes.frames import ending_of, failed_of
from emq_sql.worker.unknown import unknown_task

_STATEMENTS = {"started", "completed", "settled", "refused", "put down", "note", "ended"}
_LATE_ANSWERS: dict[str, Any] = {
    "state": None, "wish": "lost", "snooze": False, "retry": False, "take": True,
}  # fmt: skip
_VERBS = get_args(Verb)
_KINDS = {*_STATEMENTS, *_LATE_ANSWERS}


def late_answer(frame: Frame) -> Frame | None:
    """The answer to what a thread asks that a handler left behind: its run is over. Raises Rubbish.

    None for what needs no answer.
    """
    if frame["kind"] in _STATEMENTS:
        return None
    if frame["kind"] not in _LATE_ANSWERS:
        raise Rubbish(f"no child says {frame['kind']!r}")
    if not isinstance(frame.get("n"), int):
        raise Rubbish("a question without a number")
    return {"kind": "answer", "n": frame["n"], "value": _LATE_ANSWERS[frame["kind"]]}


class Errand:
    """Answers what the child asks about its run out of `Held`, as a grip in this process would.

    The keeper must extend neither during a completion in the handler's own transaction nor right
    after it, and cannot see that transaction from here: it is taken for open until the child says
    otherwise, or the run is over, or the lease is in need. `post` sends an answer; it is called
    from any thread, some of which hold locks, and must not wait.
    """

    def __init__(
        self, entry: Entry, held: Held, ended: Ended, post: Callable[[Frame], None]
    ) -> None:
        self.entry = entry
        self.started = False
        self.over = False
        self.unknown = False  # the child has no such task
        self.ending: Ending | None = None
        self.told = False
        self.stopped = False
        self._held = held
        self._ended = ended
        self._post = post
        self._own_open = False

    def heard(self, frame: Frame) -> None:
        """Do what the child says; it is `over` when that was the end of the run. Raises Rubbish."""
        kind = frame["kind"]
        try:
            if frame["fence"] != self.entry.lease.fence or kind not in _KINDS:
                if (answer := late_answer(frame)) is not None:
                    self._post(answer)
                return
            self._own_open = frame.get("open") is True
            if kind in _LATE_ANSWERS:
                self._asked(kind, frame)
            else:
                self._said(kind, frame)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise Rubbish(f"a frame of kind {kind!r} makes no sense: {error!r}") from error

    def close(self) -> None:
        """Nothing more will be heard of it."""
        self.over = True
        self._held.put_down([self.entry], "handler")

    def _said(self, kind: str, frame: Frame) -> None:
        entry, held = self.entry, self._held
        if kind == "started":
            self.started = True
        elif kind == "completed":
            if frame["verb"] not in _VERBS:
                raise ValueError("no such verb")
            held.completed(entry, self._own_is_open, frame["verb"])
        elif kind == "settled":
            held.settled(entry)
        elif kind == "refused":
            held.refused(entry)
        elif kind == "note":
            held.note_refusal(entry, str(frame["verb"]))
        elif kind == "put down":
            held.put_down([entry], "handler")
        else:
            if frame["how"] == "unknown task":
                self.unknown = True
                self.ending = unknown_task(entry.claimed, "The process that was to run it")
            else:
                self.ending = ending_of(frame)
            self.over = True

    def _asked(self, kind: str, frame: Frame) -> None:
        number = int(frame["n"])
        if kind == "wish":
            lease = None if frame["lease"] is None else timedelta(microseconds=frame["lease"])
            wish = self._held.wish(self.entry, lease).answer
            wish.add_done_callback(lambda answered: self._wish_answered(number, answered))
        elif kind == "snooze":
            self._answer(number, self._finish(Snoozed(timedelta(microseconds=frame["delay"]))))
        elif kind == "retry":
            self._answer(number, self._finish(failed_of(frame)))
        elif kind == "take":
            self._held.take_soon(self.entry, "handler")
            self._answer(number, True)
        else:
            self._answer(number, self._state())

    def _state(self) -> dict[str, Any]:
        entry, held = self.entry, self._held
        return {
            "deadline": entry.lease_deadline.isoformat(),
            "lapses_in": held.deadline(entry) - monotonic(),
            "paused": held.pauses.paused(entry.claimed.queue),
            "standing": standing(
                decided=entry.decided, lost=entry.lost, completing=entry.completing
            ),
        }

    def _finish(self, ending: Failed | Snoozed) -> bool:
        if not self._held.decide(self.entry):
            return False
        self._ended(self.entry, ending)
        return True

    def _wish_answered(self, number: int, answered: Future[KeepAnswer]) -> None:
        self._answer(number, answered.result())

    def _answer(self, number: int, value: object) -> None:
        if not self.over:
            self._post({"kind": "answer", "n": number, "value": value})

    def _own_is_open(self) -> bool:
        return self._own_open and not self.over
