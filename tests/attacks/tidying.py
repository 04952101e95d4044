"""The attack on tidy: processes that tidy are killed again and again, while everybody works on.

Ids of finished jobs that are past their retention are sent again, claimed, failed and completed. In
the end each id that was answered `enqueued` was completed exactly once, what is past its retention
is gone, what is not is there, and dead letters and jobs that wait have their attempts.
"""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from uuid import UUID

from tests.attacks.arms import Arms
from tests.protocol.calls import Ledger
from tests.protocol.history import days_ago, dead, ledger_keeps, queue_keeps

ROOT = Path(__file__).resolve().parents[2]
ATTACKERS = 3
LETTERS = 40
# A number is the hundredths of a second after midnight at which the job was enqueued.
_FILL = """
insert into emq.job (id, enqueued_at, priority, queue, task, payload)
select emq.job_id(%(queue)s || g, %(day)s::date + g * interval '0.01 s'),
       %(day)s::date + g * interval '0.01 s', 2, %(queue)s, 't', '{}'
  from generate_series(1, %(n)s) g
returning id
"""
_FINISH = """
insert into emq.archive
  (id, fence, finished_at, claimed_at, attempts, stalled, failures, status, queue, worker)
select id, 1::bigint << 40, enqueued_at + interval '1 h', enqueued_at + interval '1 h', 1, 0, 0,
       'completed', queue, 'w'
  from emq.job where id = any (%(ids)s)
"""


@dataclass
class TidyAttack(Arms):
    """`run` fills three days, lets them be tidied under attack, and looks at what is left."""

    jobs: int = 1500
    limit: int = 7
    old: list[UUID] = field(default_factory=list)
    short: list[UUID] = field(default_factory=list)
    kept: list[UUID] = field(default_factory=list)
    sent: list[UUID] = field(default_factory=list)
    killed: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, how_long: float) -> None:
        chief = self.session(autocommit=True)
        letters = self.fill(chief)
        began = chief.one("select clock_timestamp()")
        threads = [self.thread(self.attack, number) for number in range(ATTACKERS)]
        draw = random.Random(self.seed)
        end = time.monotonic() + how_long
        while time.monotonic() < end and not self.over():
            self.kill_some(draw)
        self.finish()
        self.rage(0.2)
        self.stop.set()
        self.join(threads)
        self.finish()
        while held := chief.claim(50, "again"):
            chief.complete(*held)
        done = chief.column(
            "select id from emq.archive where finished_at > %s and queue = 'again'", began
        )
        self.breach("completed twice", len(done) - len(set(done)))
        self.breach("missing", len(set(self.sent) - set(done)))
        self.breach("never accepted", len(set(done) - set(self.sent)))
        self.breach("misplaced", chief.one("select count(*) from emq.misplaced"))
        self.look(chief, letters)
        chief.conn.close()

    def fill(self, chief: Ledger) -> list[UUID]:
        """Days that are over by long, with finished jobs; and dead letters as old as the oldest."""
        ledger_keeps(chief, retention="8 d")
        queue_keeps(chief, "short", retention="1 d")
        first, second, third = (days_ago(chief, n) for n in (12, 5, 4))
        self.old = self.finished(chief, "old", first)
        self.short = self.finished(chief, "short", second) + self.finished(chief, "short", third)
        self.kept = self.finished(chief, "kept", second) + self.finished(chief, "kept", third)
        return dead(chief, LETTERS, first, "dead")

    def finished(self, chief: Ledger, queue: str, day: date) -> list[UUID]:
        named = {"queue": queue, "day": day, "n": self.jobs // 3}
        ids = [id for (id,) in chief.conn.execute(_FILL, named).fetchall()]
        chief.conn.execute(_FINISH, {"ids": ids})
        return ids

    def kill_some(self, draw: random.Random) -> None:
        """Two that tidy, killed at some moment."""
        both = [self.tidier() for _ in range(2)]
        time.sleep(draw.random() * 0.15)
        for process in both:
            process.kill()
        for process in both:
            self.killed += process.wait() < 0

    def tidier(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.attacks.tidier", self.dsn, str(self.limit)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        with process.stdout as said:
            assert said.readline() == "ready\n"
        return process

    def finish(self) -> None:
        """One that is not killed."""
        process = self.tidier()
        if process.wait(120) != 0:
            self.breach("tidy failed")

    def look(self, chief: Ledger, letters: list[UUID]) -> None:
        """What is past its retention is gone, and nothing else."""
        rows = "select count(*) from emq.archive where id = any (%s) and queue <> 'again'"
        envelopes = "select count(*) from emq.job where id = any (%s)"
        self.breach("rows left", chief.one(rows, self.old + self.short))
        self.breach("rows gone", len(self.kept) - chief.one(rows, self.kept))
        self.breach("envelopes gone", len(self.kept) - chief.one(envelopes, self.kept))
        left = set(
            chief.column("select id from emq.job where id = any (%s)", self.old + self.short)
        )
        self.breach("envelopes left", len(left - set(self.sent)))
        attempts = "select id from emq.attempt where queue = 'dead' order by id"
        self.breach("attempts", chief.column(attempts) != sorted(letters))

    def attack(self, session: Ledger, draw: random.Random) -> None:
        session.run("set lock_timeout = '3 s'")
        session.conn.commit()
        ids = self.old + self.short + self.kept
        while not self.stop.is_set():
            some = draw.sample(ids, 3)
            answers = session.add_many(some, "again")
            accepted = [
                id for id, status in zip(some, answers, strict=True) if status == "enqueued"
            ]
            if draw.random() < 0.2:
                session.conn.rollback()
            else:
                session.conn.commit()
                with self.lock:
                    self.sent.extend(accepted)
            held = session.claim(draw.randint(1, 4), "again", nonce=draw.getrandbits(40))
            session.conn.commit()
            if held and draw.random() < 0.2:
                session.retry(held.pop(), error="once more")
                session.conn.commit()
            if held:
                session.complete(*held)
                session.conn.commit()
