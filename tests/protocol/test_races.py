"""What commits between a verb's snapshot and its row lock, in a fixed order."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.protocol.calls import Held, Ledger
from tests.protocol.gap import held_in_gap, open_gap

VERBS = pytest.mark.parametrize(
    ("function", "verb", "good"),
    [
        ("complete", "complete", "done"),
        ("extend", "extend", "done"),
        ("hand_back", "retry", "pending"),
        ("hand_back", "release", "pending"),
    ],
)


def calling(third: Ledger, verb: str, held: Held) -> Callable[[], list[str]]:
    method: Callable[[Held], list[str]] = getattr(third, verb)
    return lambda: method(held)


@VERBS
def test_the_holder_is_not_refused_because_its_own_lease_was_extended_meanwhile(
    ledger: Ledger, third: Ledger, function: str, verb: str, good: str
) -> None:
    held = ledger.start()
    before = ledger.one("select ctid::text from emq.active")
    if function == "extend":  # the extension must come by another way than the one held still
        extend = "update emq.active set extensions = extensions + 1 where id = %s"
    else:
        extend = None
    open_gap(ledger, function)
    with held_in_gap(ledger, third, calling(third, verb, held)) as call:
        if extend:
            ledger.run(extend, held.id)
        else:
            assert ledger.extend(held, lease="90 s") == ["done"]
        assert ledger.one("select ctid::text from emq.active") != before
    assert call.result() == [good]


@VERBS
def test_a_holder_whose_job_was_reaped_and_claimed_meanwhile_is_refused_and_changes_nothing(
    ledger: Ledger, third: Ledger, function: str, verb: str, good: str
) -> None:
    held = ledger.abandoned()
    open_gap(ledger, function)
    with held_in_gap(ledger, third, calling(third, verb, held)) as call:
        assert ledger.reap() == (1, 0, 0)
        newer = ledger.take()
    assert call.result() == ["lost"]
    assert ledger.outcome(newer) == "yours"
    assert ledger.one("select extensions from emq.active") == 0


@VERBS
def test_a_holder_whose_job_was_cancelled_meanwhile_is_refused(
    ledger: Ledger, third: Ledger, function: str, verb: str, good: str
) -> None:
    held = ledger.start()
    open_gap(ledger, function)
    with held_in_gap(ledger, third, calling(third, verb, held)) as call:
        assert ledger.operate("cancel", held.id) == "done"
    assert call.result() == ["lost"]
    assert ledger.place(held.id) == "cancelled"


def test_a_completion_that_commits_meanwhile_is_one_completion(
    ledger: Ledger, third: Ledger
) -> None:
    held = ledger.start()
    plain = "complete_at_once"
    definition = ledger.one("select pg_get_functiondef('emq.complete'::regproc)")
    ledger.run(definition.replace("emq.complete(", f"emq.{plain}("))
    open_gap(ledger, "complete")
    with held_in_gap(ledger, third, lambda: third.complete(held)) as call:
        once = f"select emq.{plain}(%s::uuid[], %s::bigint[], null)"
        assert ledger.one(once, [held.id], [held.fence]) == ["done"]
    assert call.result() == ["done"]
    assert ledger.one("select count(*) from emq.archive where id = %s", held.id) == 1
