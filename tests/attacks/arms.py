"""What the attacks share: threads that end together, and a report of what they broke."""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import psycopg

from tests.protocol.calls import Ledger


def seconds(usual: float) -> float:
    """How long an attack lasts: EMQ_SQL_ATTACK_SECONDS, else what is usual."""
    return float(os.environ.get("EMQ_SQL_ATTACK_SECONDS", usual))


def seed() -> int:
    """A new seed, or EMQ_SQL_ATTACK_SEED, to try the same draws again (not the same timing)."""
    return int(os.environ.get("EMQ_SQL_ATTACK_SEED", random.SystemRandom().randrange(10**6)))


@dataclass
class Arms:
    """Threads that attack until they are told to stop, or until a breach if one is enough."""

    dsn: str
    seed: int
    first_breach_is_enough: bool = False
    breaches: Counter[str] = field(default_factory=Counter)
    errors: list[BaseException] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def session(self, *, autocommit: bool = False) -> Ledger:
        # Plans are cached by the functions themselves; the client prepares nothing.
        return Ledger(psycopg.connect(self.dsn, autocommit=autocommit, prepare_threshold=None))

    def breach(self, what: str, count: Any = 1) -> None:
        """Note a broken promise; a count of zero is none."""
        if count:
            self.breaches[what] += int(count)

    def thread(
        self, body: Callable[[Ledger, random.Random], None], number: int
    ) -> threading.Thread:
        """A started thread with a session and draws of its own."""

        def run() -> None:
            session = self.session()
            try:
                body(session, random.Random(f"{self.seed} {body.__name__} {number}"))
            except BaseException as error:
                self.errors.append(error)
            finally:
                session.conn.close()

        thread = threading.Thread(target=run, daemon=True, name=f"{body.__name__} {number}")
        thread.start()
        return thread

    def over(self) -> bool:
        """Whether there is nothing more to find out."""
        return bool(self.errors) or (self.first_breach_is_enough and bool(self.breaches))

    def rage(self, how_long: float) -> None:
        """Let the threads work for so long, or until it is over."""
        end = time.monotonic() + how_long
        while time.monotonic() < end and not self.over():
            time.sleep(0.02)

    def join(self, threads: Iterable[threading.Thread]) -> None:
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive(), f"{thread.name} hangs"
