"""Tries of the main loop to reach the database, and the pauses between them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic

from emq_sql.errors import EmqError, Refused, SchemaError
from emq_sql.protocol.patience import Patience

log = logging.getLogger("emq_sql.worker")

MOST_REFUSALS = 10  # in a row before the worker gives up


class Trying:
    """Handlers run on while the database cannot be asked. `trouble` is the newest error, if any."""

    def __init__(self) -> None:
        self._patience = Patience()
        self._refusals = 0
        self.again_at = 0.0
        self.trouble: EmqError | None = None

    def once(self, turn: Callable[[float], bool]) -> None:
        """Take a turn, unless the pause after a failed one is not over.

        `turn` says whether the database answered all that it was asked, and was asked something:
        only that ends the trouble. Raises Refused or a SchemaError when the server refuses again
        and again.
        """
        if monotonic() < self.again_at:
            return
        try:
            answered = turn(monotonic())
        except (Refused, SchemaError) as error:
            self._refusals += 1
            self._failed(error)
            if self._refusals >= MOST_REFUSALS:
                raise
        except EmqError as error:
            self._failed(error)
        else:
            if answered:
                self._succeeded()

    def quietly(self, turn: Callable[[float], bool]) -> None:
        """The same, and refusals are waited out like everything else."""
        try:
            self.once(turn)
        except EmqError as error:
            log.debug("refused once more at the end: %s", error)

    def _succeeded(self) -> None:
        if self._patience.failures:
            log.info("the database answers again")
        self._patience.succeeded()
        self._refusals, self.trouble = 0, None

    def _failed(self, error: EmqError) -> None:
        pause = self._patience.pause()
        self.trouble = error
        if self._patience.failures == 1:
            log.warning("the database could not be asked, handlers run on: %s", error)
        self.again_at = monotonic() + pause
