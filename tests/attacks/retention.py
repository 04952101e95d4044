"""The attack on retention: ids of the day that is being retired are sent again and completed.

Every id that was answered `enqueued` must be completed exactly once, and no envelope of a live job
may go.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from uuid import UUID

from tests.attacks.arms import Arms
from tests.protocol.calls import Ledger

ATTACKERS = 4
_FILL = """
insert into emq.job (id, enqueued_at, priority, queue, task, payload)
select emq.job_id('k' || g, %(day)s::date + g * interval '0.1 s'),
       %(day)s::date + g * interval '0.1 s', 2, 'default', 't', '{}'
  from generate_series(1, %(n)s) g
"""
_FINISH = """
insert into emq.archive
  (id, fence, finished_at, claimed_at, attempts, stalled, failures, status, queue, worker)
select id, 1::bigint << 40, enqueued_at + interval '1 h', enqueued_at + interval '1 h', 1, 0, 0,
       'completed', 'default', 'w'
  from emq.job
"""


@dataclass
class RetentionAttack(Arms):
    """`run` fills a day that is over, retires it under attack and answers the calls by status."""

    jobs: int = 1500
    step: int = 7
    late_rows: bool = True
    ids: list[UUID] = field(default_factory=list)
    sent: list[UUID] = field(default_factory=list)
    duplicates: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, how_long: float) -> Counter[str]:
        chief = self.session(autocommit=True)
        day = self.fill(chief)
        began = chief.one("select clock_timestamp()")
        threads = [self.thread(self.attack, k) for k in range(ATTACKERS)]
        calls = self.retire(chief, day, how_long)
        self.rage(0.3)
        self.stop.set()
        self.join(threads)
        while held := chief.claim(50):
            chief.complete(*held)
        done = chief.column("select id from emq.archive where finished_at > %s", began)
        self.breach("completed twice", len(done) - len(set(done)))
        self.breach("missing", len(set(self.sent) - set(done)))
        self.breach("never accepted", len(set(done) - set(self.sent)))
        self.breach("misplaced", chief.one("select count(*) from emq.misplaced"))
        chief.conn.close()
        return calls

    def fill(self, chief: Ledger) -> date:
        """A day that is over by long, with finished jobs: history cannot be waited for."""
        day: date = chief.one("select (now() at time zone 'utc')::date - 10")
        chief.rows("select emq.archive_days(0, %s)", day)
        chief.conn.execute(_FILL, {"day": day, "n": self.jobs})
        chief.run(_FINISH)
        self.ids = chief.column("select id from emq.job")
        return day

    def retire(self, chief: Ledger, day: date, how_long: float) -> Counter[str]:
        calls: Counter[str] = Counter()
        end = time.monotonic() + max(4 * how_long, 60)
        while calls["dropped"] == 0 and time.monotonic() < end and not self.errors:
            status, _ = chief.retire(day, self.step)
            calls[status] += 1
            time.sleep(0.004)
        return calls

    def attack(self, session: Ledger, draw: random.Random) -> None:
        while not self.stop.is_set():
            ids = draw.sample(self.ids, 3)
            answers = session.add_many(ids)
            accepted = [id for id, status in zip(ids, answers, strict=True) if status == "enqueued"]
            if draw.random() < 0.2:
                time.sleep(draw.random() * 0.02)
            if draw.random() < 0.2:
                session.conn.rollback()
            else:
                session.conn.commit()
                with self.lock:
                    self.sent.extend(accepted)
                    self.duplicates += 3 - len(accepted)
            held = session.claim(draw.randint(1, 4), nonce=draw.getrandbits(40))
            session.conn.commit()
            if held:
                session.complete(*held)
                session.conn.commit()
