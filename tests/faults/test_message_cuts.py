"""The connection breaks before and after each message of a conversation: nothing is lost or double.

All of them with `make cuts`; a slice, whose seed is printed, otherwise.
"""

from __future__ import annotations

import itertools
import os
import random
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from emq_sql.upkeep.maintenance import Maintenance
from tests.faults.conversations import CONVERSATIONS, TABLES, WRONG, Conversation, place
from tests.faults.cutting import Cut
from tests.plugins.databases import Database

ALL = bool(os.environ.get("EMQ_SQL_ALL_CUTS"))
AT_ONCE = 24 if ALL else 12
SLICE = 6  # of each conversation


@pytest.fixture
def kept(db: Database) -> Iterator[Database]:
    """The database with the tables of the conversations, and with upkeep."""
    reader = db.connect()
    reader.execute(TABLES)
    upkeep = Maintenance(db.connect, "emq", timedelta(seconds=0.1))
    thread = threading.Thread(target=upkeep.run, daemon=True)
    thread.start()
    try:
        yield db
    finally:
        upkeep.stop()
        thread.join(20)


def test_a_connection_that_breaks_at_any_message_loses_and_doubles_nothing(kept: Database) -> None:
    number = itertools.count()

    def run(name: str, cut: Cut | None) -> tuple[list[str], bool]:
        with place(kept.dsn, f"q{next(number)}", cut) as held:
            CONVERSATIONS[name](held)
            return held.proxy.heard, held.proxy.was_cut.is_set()

    def cut_off(name: str, cut: Cut) -> bool:
        """Conversations vary in length: where the message never came, an earlier one is cut."""
        heard, made = run(name, cut)
        if not made:
            _, made = run(name, Cut(1 + cut.at % len(heard), cut.after))
        return made

    seed = int(os.environ.get("EMQ_SQL_CUTS_SEED") or random.randrange(10**6))
    chosen: list[tuple[str, Cut]] = []
    messages = {name: len(run(name, None)[0]) for name in CONVERSATIONS}
    for name, n in messages.items():
        cuts = [Cut(at, after) for at in range(1, n + 1) for after in (False, True)]
        if not ALL:
            cuts = random.Random(f"{seed} {name}").sample(cuts, SLICE)
        chosen += [(name, cut) for cut in cuts]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        done = [pool.submit(cut_off, name, cut) for name, cut in chosen]
        made = Counter(name for (name, _), end in zip(chosen, done, strict=True) if end.result())
    print("all cuts" if ALL else f"EMQ_SQL_CUTS_SEED={seed}")
    for name, n in messages.items():
        print(f"{name}: {n} messages, cut {made[name]} times, nothing lost and nothing double")
    told = kept.connect().execute("select outcome, count(*) from told group by 1 order by 1")
    print("job.outcome() after an ambiguous commit:", dict(told.fetchall()))
    assert made.total() > 0.9 * len(chosen), "most messages came again"


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_on_purpose_is_seen_to_double(kept: Database, wrong: Conversation) -> None:
    def run(queue: str, cut: Cut | None) -> list[str]:
        with place(kept.dsn, queue, cut) as held:
            wrong(held)
            return held.proxy.heard

    last = run("whole", None)
    # Its COMMIT, or the statement that is one, was answered, and the answer breaks off.
    end = len(last) - last[::-1].index("CommandComplete")
    with pytest.raises(AssertionError, match=r"2 (jobs|effects)"):
        run("cut", Cut(end, after=False))
