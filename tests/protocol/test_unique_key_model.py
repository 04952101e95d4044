"""Whatever becomes of the jobs, a key has the holder that a few lines of Python say it has."""

from __future__ import annotations

from itertools import count
from typing import Literal
from uuid import UUID

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.protocol.calls import Held, Ledger
from tests.protocol.test_unique_key import ask

Scope = Literal["waiting", "unfinished", "until"]
ENDS = ("complete", "fail", "cancel")
BACK = ("release", "retry")

asks = st.tuples(
    st.just("ask"),
    st.lists(st.sampled_from("abc"), min_size=1, max_size=4),
    st.sampled_from(["waiting", "unfinished", "until"]),
)
moves = st.tuples(
    st.sampled_from(["take", "take", "take", *ENDS, *BACK, "tidy"]), st.integers(0, 3)
)
numbers = count()


class Model:
    """Where each job is, and who holds each key for how long."""

    def __init__(self) -> None:
        self.waits: list[UUID] = []
        self.runs: dict[UUID, Held] = {}
        self.keys: dict[str, tuple[UUID, Scope]] = {}

    def holder(self, key: str) -> UUID | None:
        """The job that holds it now."""
        id, scope = self.keys.get(key, (None, "until"))
        if id is None or scope == "until" or id in self.waits:
            return id
        return id if scope == "unfinished" and id in self.runs else None


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(asks | moves, min_size=10, max_size=40))
def test_a_key_has_one_holder_for_as_long_as_it_says(ledger: Ledger, turns: list[tuple]) -> None:  # type: ignore[type-arg]
    n, model = next(numbers), Model()
    queue = f"q{n}"
    for turn in turns:
        if turn[0] == "ask":
            _, keys, scope = turn
            span = "1 h" if scope == "until" else None
            answers = ask(
                ledger, *(f"{n}:{key}" for key in keys), queue=queue, scope=scope, span=span
            )
            for key, (id, status) in zip(keys, answers, strict=True):
                holder = model.holder(key)
                assert (status == "duplicate") == (holder is not None)
                assert holder in (None, id)
                if holder is None:
                    model.keys[key] = (id, scope)
                    model.waits.append(id)
        else:
            move(ledger, model, queue, *turn)
    assert set(ledger.column("select id from emq.pending where queue = %s", queue)) == set(
        model.waits
    )


def move(ledger: Ledger, model: Model, queue: str, verb: str, choice: int) -> None:
    """What workers, operators and retention do with jobs."""
    if verb == "take":
        for held in ledger.claim(1, queue):
            model.waits.remove(held.id)
            model.runs[held.id] = held
    elif verb == "tidy":
        ledger.run("update emq.unique_key set look_at = '-infinity' where scope <> 'until'")
        ledger.one("select did from emq.tidy()")
    elif model.runs:
        id = sorted(model.runs)[choice % len(model.runs)]
        held = model.runs.pop(id)
        if verb == "cancel":
            assert ledger.operate("cancel", id) == "done"
        elif verb == "fail":
            assert ledger.fail(held, reason="permanent") == ["dead"]
        else:
            getattr(ledger, verb)(held)
        if verb in BACK:
            model.waits.append(id)
