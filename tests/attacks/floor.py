"""The attack on the floors: nothing that lives may lie below where claim, reap and promote begin.

Enqueuers keep their transactions open, roll them back, prepare them, delay jobs by milliseconds,
send ids again and cancel. Workers claim under leases of milliseconds, roll claims back, extend,
snooze, abandon, complete late. `maintain` runs every 20 ms without the two seconds of slack, so
that the rule itself must hold. At the end every job that was committed is archived, once.
"""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field
from uuid import UUID

from tests.attacks.arms import Arms
from tests.mutants.rendering import Change
from tests.protocol.calls import Held, Ledger

NO_SLACK = Change("maintain", "s.cand_t - interval '2 s'", "s.cand_t - interval '0 s'")

ENQUEUERS, WORKERS = 6, 4
_FLOORS = f"emq.f{b'default'.hex()}"
_NEWEST = "(select {} as f from emq.settled order by n desc limit 1) s"
_LIVE = (
    "select exists (select from emq.pending) or exists (select from emq.active)"
    " or exists (select from emq.scheduled)"
)


@dataclass
class FloorAttack(Arms):
    """`run` answers when everything has drained, or cannot; `breaches` says what was broken."""

    committed: set[UUID] = field(default_factory=set)
    cancelled: set[UUID] = field(default_factory=set)
    past: list[UUID] = field(default_factory=list)
    two_phases: bool = True
    drained: threading.Event = field(default_factory=threading.Event)

    def run(self, how_long: float) -> None:
        chief = self.session(autocommit=True)
        chief.rows(
            "select emq.configure('default', p_max_attempts => 30000, p_max_stalled => 30000)"
        )
        self.two_phases = chief.one("show max_prepared_transactions") != "0"
        enqueuers = [self.thread(self.enqueue, k) for k in range(ENQUEUERS)]
        others = [self.thread(self.work, k) for k in range(WORKERS)]
        others.append(self.thread(self.keep, 0))
        self.rage(how_long)
        self.stop.set()
        self.join(enqueuers)
        end = time.monotonic() + 20
        while time.monotonic() < end and not self.over() and chief.one(_LIVE):
            time.sleep(0.05)
        self.drained.set()
        self.join(others)
        self.account(chief)
        chief.conn.close()

    def account(self, chief: Ledger) -> None:
        rows = chief.rows("select id, status from emq.archive")
        archived = {id for id, _ in rows}
        cancelled = {id for id, status in rows if status == "cancelled"}
        self.breach("archived twice", len(rows) - len(archived))
        self.breach("never enqueued", len(archived - self.committed))
        self.breach("missing", len(self.committed - archived))
        self.breach("cancel lost", len(self.cancelled ^ cancelled))
        self.breach("misplaced", chief.one("select count(*) from emq.misplaced"))

    def enqueue(self, session: Ledger, draw: random.Random) -> None:
        count = 0
        while not self.stop.is_set():
            ids = []
            for _ in range(draw.randint(1, 3)):
                delay = draw.randint(1, 40) if draw.random() < 0.4 else -1
                id, _ = session.row(
                    "select id, status from emq.enqueue('default', 't', '{}', null, %s,"
                    " clock_timestamp() + %s * interval '1 ms')", draw.randint(0, 4), delay,
                )  # fmt: skip
                ids.append(id)
            if draw.random() < 0.3:
                time.sleep(draw.random() * 0.08)
            if draw.random() < 0.02:
                time.sleep(0.5)
            if draw.random() < 0.2:
                session.conn.rollback()
                continue
            if draw.random() < 0.1 and self.two_phases:
                count += 1
                self.commit_in_two_phases(session, f"p{threading.get_ident()}_{count}", draw)
            else:
                session.conn.commit()
            self.committed.update(ids)
            self.past.append(ids[0])
            if draw.random() < 0.5:
                self.send_again(session, self.old_id(draw))
            if draw.random() < 0.15:
                self.cancel(session, self.old_id(draw), draw)

    def old_id(self, draw: random.Random) -> UUID:
        """An id that was committed, mostly a late one."""
        return self.past[int(len(self.past) * (1 - draw.random() ** 4 * 0.999)) - 1]

    def commit_in_two_phases(self, session: Ledger, name: str, draw: random.Random) -> None:
        session.run(f"prepare transaction '{name}'")
        session.conn.commit()
        time.sleep(draw.random() * 0.1)
        session.conn.autocommit = True
        session.run(f"commit prepared '{name}'")
        session.conn.autocommit = False

    def send_again(self, session: Ledger, id: UUID) -> None:
        status = session.status(id)
        session.conn.commit()
        self.breach("accepted twice", status != "duplicate")

    def cancel(self, session: Ledger, id: UUID, draw: random.Random) -> None:
        answer = session.operate("cancel", id)
        if draw.random() < 0.2:
            time.sleep(0.05)
        if draw.random() < 0.2:
            session.conn.rollback()
            return
        session.conn.commit()
        if answer == "done":
            self.cancelled.add(id)

    def work(self, session: Ledger, draw: random.Random) -> None:
        nonce = draw.getrandbits(30)
        while not self.drained.is_set():
            nonce += 1
            lease = draw.randint(5, 60) if draw.random() < 0.4 else 2000
            late = draw.random() < 0.05
            held = session.claim(draw.choice([1, 2, 10, 20, 40]), nonce=nonce, lease=f"{lease} ms")
            if late:
                time.sleep(0.15)  # the deadline may be over before the commit
            if held and draw.random() < 0.15:
                session.conn.rollback()
                continue
            session.conn.commit()
            self.look_below_the_floors_of_claim(session)
            if not held:
                time.sleep(0.005)
                continue
            self.look_whether_claimed_names_them(session, nonce)
            self.settle(session, held, draw, late)

    def look_below_the_floors_of_claim(self, session: Ledger) -> None:
        below = session.one(
            "select count(*) from emq.pending p, (select string_to_array(current_setting(%s, true),"
            " ':')::bigint[] as f) s where p.queue = 'default' and p.ord < s.f[p.rank + 5]",
            _FLOORS,
        )  # fmt: skip
        session.conn.commit()
        self.breach("below a floor of claim", below)

    def look_whether_claimed_names_them(self, session: Ledger, nonce: int) -> None:
        same = session.one(
            "select (select array_agg(id) from emq.claimed(%s)) is not distinct from"
            " (select array_agg(id order by id) from emq.active"
            "   where fence & ((1::bigint << 40) - 1) = %s)", nonce, nonce,
        )  # fmt: skip
        session.conn.commit()
        self.breach("claimed is wrong", not same)

    def settle(self, session: Ledger, held: list[Held], draw: random.Random, late: bool) -> None:
        what = draw.random()
        if what < 0.2:
            session.extend(*held, lease=f"{draw.randint(1, 50)} ms")
            if late:
                time.sleep(0.1)
            session.conn.commit()
        if what < 0.25:
            for one in held:
                session.snooze(one, delay=f"{draw.randint(1, 40)} ms")
            if draw.random() < 0.2:
                time.sleep(0.1)
            if draw.random() < 0.1:
                session.conn.rollback()
        elif what < 0.35 and not self.stop.is_set():
            return  # abandoned: its lease runs out
        else:
            session.complete(*held)
        session.conn.commit()

    def keep(self, session: Ledger, draw: random.Random) -> None:
        looks = {
            "below the floor of reap": ("emq.active", "lease_deadline", "reap_from"),
            "below the floor of promote": ("emq.scheduled", "run_at", "promote_from"),
        }
        while not self.drained.is_set():
            session.rows("select emq.maintain(200)")
            session.conn.commit()
            for what, (table, column, floor) in looks.items():
                newest = _NEWEST.format(floor)
                self.breach(
                    what,
                    session.one(f"select count(*) from {table} x, {newest} where x.{column} < s.f"),
                )
            session.conn.commit()
            time.sleep(0.02)
