"""What runs handlers, as the rest of a worker sees it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from emq_sql.rules.verdict import Completed, Failed, headline
from emq_sql.worker.endings import Ending
from emq_sql.worker.entry import Entry
from emq_sql.worker.held import Held
from emq_sql.worker.records import about

log = logging.getLogger("emq_sql.worker")

# Called with what is to be settled about a run, from any thread; None when nothing is (its slot
# may be free now).
Ended = Callable[[Entry, Ending | None], None]


class Executor(Protocol):
    """A number of slots, each of which runs one handler at a time.

    It calls its `ended(entry, ending)` when a run has ended; the slot is free by then. A handler
    that hangs costs its slot and nothing else: no other slot, no lease, no control work. What it
    runs it asks `Held.starts` first and `Held.decide` at the end, so that of all who want to settle
    a run exactly one does. Every method may be called from any thread, and none of them waits for
    a handler.
    """

    @property
    def slots(self) -> int:
        """How many handlers may run at once."""

    @property
    def occupied(self) -> int:
        """Slots in use, spoken for, or not usable now."""

    @property
    def inside(self) -> int:
        """Runs in the worker's own process that have not ended: each of them may end it."""

    def start(self) -> None:
        """Get ready; called once, before everything else."""

    def submit(self, entry: Entry) -> None:
        """Run it as soon as a slot is free."""

    def stop(self, entry: Entry, ending: Ending | None) -> None:
        """Make this run end. Its handler has been told already (`entry.cancelled`).

        With an `ending` the caller has won `Held.decide`: it goes to `ended` when the run has
        ended, or when it is clear that it will not soon; exactly once, and also when there was no
        run or it is over. With None the lease is lost: nothing has to be settled, and an executor
        that did end the run calls `Held.drop`; a run that ends by itself all the same is settled
        as it ended, and so refused on record. The slot stays occupied as long as anything runs.
        """

    def stop_sql(self, entry: Entry) -> None:
        """Cancel the SQL that this run has under way, if it runs here and has any."""

    def close(self) -> None:
        """No more runs. Ends what can be ended, within a few seconds; the rest stays `occupied`."""


def left_to_settle(
    held: Held, entry: Entry, ending: Ending, trouble: BaseException | None
) -> Ending | None:
    """What is to be settled about a run that has ended with `ending`: None when nothing is.

    Of a job that an operator has cancelled, or whose lost lease has ended its run, the end is no
    news, unless its handler went so far as to complete it: that refusal goes on record.
    """
    told = entry.cancelled.reason
    if entry.lost and isinstance(ending, (Completed, Failed)):
        interrupted = told is not None and isinstance(trouble, asyncio.CancelledError)
        if interrupted or told == "cancelled by an operator":
            extra = about(entry.claimed)
            log.info("%s has ended after it was told to stop: %s", entry, told, extra=extra)
            held.drop(entry)
            return None
    if held.decide(entry):
        return ending
    if trouble is not None and told is None:
        extra = about(entry.claimed)
        log.warning(
            "%s was settled before; its handler then raised %s",
            entry, headline(trouble), extra=extra,
        )  # fmt: skip
    return None
