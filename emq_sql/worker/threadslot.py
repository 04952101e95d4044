"""What one thread has to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from queue import SimpleQueue

from emq_sql.worker.endings import Ending
from emq_sql.worker.entry import Entry
from emq_sql.worker.running import Run


@dataclass(slots=True, eq=False)
class ThreadSlot:
    """Its job and how far it has come. `wake` is put to when there is something new.

    `entry` is given by who submits; everything else is written by the slot's own thread.
    """

    number: int
    thread: int = 0  # its ident
    wake: SimpleQueue[None] = field(default_factory=SimpleQueue)
    entry: Entry | None = None
    run: Run | None = None  # its handler was called
    ending: Ending | None = None  # how that ended, not decided yet
    decided: bool = False  # somebody else had settled it before
    told: tuple[Entry, Ending | None] | None = None  # the slot is free, and this is to be told
    trouble: BaseException | None = None

    def gets(self, entry: Entry) -> None:
        """This is the next one."""
        self.entry = entry

    def is_free(self) -> None:
        """The run is over."""
        self.entry = None
        self.run = self.ending = self.trouble = None
        self.decided = False
