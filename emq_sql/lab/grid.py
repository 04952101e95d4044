"""The crash points, the styles, and what each pair must come to, with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from emq_sql.lab import points

Found = Literal["done once", "done twice", "lost", "not done yet"]
NONE = "-"


@dataclass(frozen=True, slots=True)
class Style:
    """One way to put the completion of a job and its effect in order; `task` runs it."""

    name: str
    task: str
    about: str


@dataclass(frozen=True, slots=True)
class Point:
    """Where the first worker is killed, by `crash_at`; without one it is frozen in its work."""

    name: str
    crash_at: str | None
    about: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A style and the point where its first run is cut off; `found` is what must come of it."""

    number: int
    point: Point
    style: Style
    found: Found
    reason: str

    @property
    def queue(self) -> str:
        """The queue of its one job."""
        return f"cell.{self.number}"

    def __str__(self) -> str:
        return f"{self.point.name}, {self.style.name}"


FIRST = Style(
    "complete first", "complete_first",
    "the job is completed in a transaction of its own, then the effect is written: at most once",
)  # fmt: skip
AFTER = Style(
    "complete after", "complete_after",
    "the effect is written and committed, then the worker completes the job: at least once",
)  # fmt: skip
WITH = Style(
    "effects with complete", "effects_with_complete",
    "`job.transaction()`: the effect and the completion are one commit",
)  # fmt: skip
GUARDED = Style(
    "guarded", "guarded",
    "a handler like that of complete after, with the guard that each handler has by itself",
)  # fmt: skip
INBOX = Style(
    "inbox", "inbox", "like complete after, and `job.once(key)` in the transaction of the effect"
)
STYLES = (FIRST, AFTER, WITH, GUARDED, INBOX)

BEFORE = Point("before work", points.BEFORE_WORK, "killed before it has written anything")
MID = Point("mid-work", points.MID_WORK, "killed when the effect is written and not committed")
EFFECT = Point("after the effect", points.AFTER_EFFECT, "killed when the effect is committed")
EARLY = Point(
    "after an early complete", points.AFTER_EARLY,
    "killed when the completion is committed and the effect is not written",
)  # fmt: skip
COMPLETE = Point(
    "after complete", points.AFTER_COMPLETE,
    "killed when the completion is committed, before the worker goes on",
)  # fmt: skip
FROZEN = Point(
    "frozen past the lease", None,
    "stopped by SIGSTOP in its work, before the effect is written, and woken when the job was"
    " finished",
)  # fmt: skip
POINTS = (BEFORE, MID, EFFECT, EARLY, COMPLETE, FROZEN)

_ROLLED_BACK = "The write went with its open transaction; the job was taken back and ran again."
_DIED_AFTER = "The effect and the completion were committed before the worker died."
_EXPECTED: dict[tuple[Point, Style], tuple[Found, str]] = {
    (BEFORE, FIRST): (
        "done once",
        "Nothing was completed yet: the job was taken back and ran again.",
    ),
    (BEFORE, AFTER): ("done once", "Nothing was written: the job was taken back and ran again."),
    (BEFORE, WITH): ("done once", "Nothing was written: the job was taken back and ran again."),
    (BEFORE, GUARDED): ("done once", "Nothing was written: the job was taken back and ran again."),
    (BEFORE, INBOX): ("done once", "Nothing was written: the job was taken back and ran again."),
    (MID, FIRST): (
        "lost",
        "The write went with its open transaction, and a job that is complete runs no more.",
    ),
    (MID, AFTER): ("done once", _ROLLED_BACK),
    (MID, WITH): (
        "done once",
        "The write went with its open transaction, which had completed nothing: the job ran again.",
    ),
    (MID, GUARDED): ("done once", _ROLLED_BACK),
    (MID, INBOX): (
        "done once",
        "The key went with the write: the second run was the first one with that key.",
    ),
    (EFFECT, FIRST): ("done once", "The job was complete before its effect, so both were there."),
    (EFFECT, AFTER): (
        "done twice",
        "The effect was committed and the job was not complete: it ran again, and wrote again.",
    ),
    (EFFECT, WITH): (
        "done once",
        "The effect and the completion were one commit: nothing was left to run.",
    ),
    (EFFECT, GUARDED): (
        "done twice",
        "The worker was the holder when it committed: the guard stops the stale, not the repeat.",
    ),
    (EFFECT, INBOX): (
        "done once",
        "The key was committed with the effect: the second run met it, and wrote nothing.",
    ),
    (EARLY, FIRST): (
        "lost",
        "The job left the ledger before its effect was written, and nothing can notice.",
    ),
    (COMPLETE, FIRST): ("done once", _DIED_AFTER),
    (COMPLETE, AFTER): ("done once", _DIED_AFTER),
    (COMPLETE, WITH): ("done once", _DIED_AFTER),
    (COMPLETE, GUARDED): ("done once", _DIED_AFTER),
    (COMPLETE, INBOX): ("done once", _DIED_AFTER),
    (FROZEN, FIRST): (
        "done once",
        "The job was complete, so nobody else was given it; the frozen worker woke up and wrote.",
    ),
    (FROZEN, AFTER): (
        "done twice",
        "Another worker had finished the job; the frozen one woke up, and nothing stopped its"
        " commit.",
    ),
    (FROZEN, WITH): (
        "done once",
        "Another worker had finished the job; the completion of the frozen one was refused, and"
        " its write was rolled back with it.",
    ),
    (FROZEN, GUARDED): (
        "done once",
        "Another worker had finished the job; the commit of the frozen one was refused.",
    ),
    (FROZEN, INBOX): (
        "done once",
        "Another worker had finished the job; the frozen one met its key, and wrote nothing.",
    ),
}

# In the order of the printed grid. A pair that is not there does not exist.
_PAIRS = [(point, style) for point in POINTS for style in STYLES if (point, style) in _EXPECTED]
CELLS = tuple(
    Cell(number, point, style, *_EXPECTED[point, style])
    for number, (point, style) in enumerate(_PAIRS, 1)
)
