"""What travels between a worker and a child arrives as it was sent, or is refused as rubbish."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, get_args
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emq_sql.job import Claimed, Lease, SettleAnswer, Verb
from emq_sql.rules.verdict import Completed, Failed, first_line
from emq_sql.worker.endings import CompletedByHandler, Ending, RefusedInHandler
from emq_sql.worker.handler import Handler
from emq_sql.worker.held import Held
from emq_sql.worker.processes.channel import Rubbish
from emq_sql.worker.processes.errand import Errand
from emq_sql.worker.processes.frames import ending_content, ending_of, job_content, job_of
from tests.unit.strategies import NASTY_TEXT
from tests.worker.making import entry

PLAIN_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | PLAIN_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PLAIN_TEXT, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(PLAIN_TEXT, JSON, max_size=4)
INSTANTS = st.datetimes(timezones=st.just(UTC))
LENGTHS = st.timedeltas(timedelta(0), timedelta(days=3653))
HEADLINES = PLAIN_TEXT.map(first_line)
REASONS = st.sampled_from(["exception", "permanent"])
FAILURES = st.builds(Failed, PLAIN_TEXT.map(lambda text: text[:500]), LENGTHS, HEADLINES, REASONS)
VERBS = st.sampled_from(get_args(Verb))
COMMITTED = st.none() | st.sampled_from(get_args(SettleAnswer))
LEASES = st.builds(
    Lease, st.uuids(), st.integers(1, 2**63 - 1), st.integers(1, 99), INSTANTS, LENGTHS
)
CLAIMED = st.builds(
    Claimed,
    lease=LEASES,
    queue=PLAIN_TEXT,
    task=PLAIN_TEXT,
    payload=OBJECTS,
    headers=st.none() | OBJECTS,
    stalled=st.integers(0),
    failures=st.integers(0),
    enqueued_at=INSTANTS,
)
SAID = ["started", "completed", "settled", "refused", "note", "put down", "ended"]
ASKED = ["state", "wish", "snooze", "retry", "take"]
KINDS = SAID + ASKED


def travelled(content: dict[str, Any]) -> Any:
    return json.loads(json.dumps(content))


@given(CLAIMED)
def test_a_job_arrives_as_it_was_claimed(claimed: Claimed) -> None:
    assert job_of(travelled(job_content(claimed))) == claimed


@given(
    st.builds(Completed, PLAIN_TEXT)
    | FAILURES
    | st.builds(CompletedByHandler, FAILURES, raised=st.booleans(), verb=VERBS, committed=COMMITTED)
    | st.builds(RefusedInHandler, FAILURES)
)
def test_an_ending_arrives_as_the_child_told_it(ending: Ending) -> None:
    assert ending_of(travelled(ending_content(ending))) == ending


@given(NASTY_TEXT)
def test_an_error_from_a_child_can_be_stored_whatever_it_says(text: str) -> None:
    failed = ending_of(
        travelled(
            {
                "how": "failed",
                "error": text * 50,
                "delay": 0,
                "headline": text,
                "reason": "exception",
            }
        )
    )
    assert isinstance(failed, Failed)
    assert failed.headline.isprintable()
    assert len(failed.error.encode()) <= 8192
    assert "\0" not in failed.error


@given(
    st.sampled_from([*KINDS, "thanks"]),
    st.booleans(),
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(
            (
                "n",
                "lease",
                "delay",
                "how",
                "error",
                "result",
                "open",
                "verb",
                "committed",
                "headline",
                "reason",
            ),
            JSON,
        ),
    ),
)
def test_a_frame_is_understood_or_refused_as_rubbish_and_nothing_else(
    kind: str, current: bool, content: dict[str, Any]
) -> None:
    job = entry(Handler("t", print))
    held = Held()
    held.add([job])
    posted: list[Any] = []
    errand = Errand(job, held, lambda *_: None, posted.append)
    fence = job.lease.fence if current else 7
    try:
        errand.heard({"kind": kind, "fence": fence, **content})
    except Rubbish:
        return
    assert kind in KINDS
    json.dumps(posted)


def test_what_a_thread_of_an_earlier_run_asks_is_answered_as_over() -> None:
    job = entry(Handler("t", print))
    posted: list[Any] = []
    errand = Errand(job, Held(), lambda *_: None, posted.append)
    for n, kind in enumerate(ASKED):
        errand.heard({"kind": kind, "fence": 7, "n": n, "lease": None, "delay": 0})
    assert [answer["value"] for answer in posted] == [None, "lost", False, False, True]
    assert not job.decided
    assert job.ask is None


@pytest.mark.parametrize("reason", ["timeout", "expired", "no handler", "stalled", "", None])
def test_of_what_else_ends_a_run_no_child_decides(reason: object) -> None:
    with pytest.raises(Rubbish):
        ending_of({"how": "failed", "error": "", "delay": 0, "headline": "", "reason": reason})


@pytest.mark.parametrize(
    "said", [{"verb": "release"}, {"verb": []}, {"committed": "lost"}, {"committed": 1}]
)
def test_an_end_that_no_handler_can_make_is_rubbish(said: dict[str, Any]) -> None:
    told = ending_content(CompletedByHandler(Failed("", timedelta(0)), raised=False))
    ending_of(travelled(told))
    with pytest.raises(Rubbish):
        ending_of(travelled(told | said))


@pytest.mark.parametrize("how", ["", "settled", None, 5])
def test_an_ending_of_no_kind_is_rubbish(how: object) -> None:
    with pytest.raises(Rubbish):
        ending_of({"how": how})


def test_ids_are_ids_again() -> None:
    job = entry(Handler("t", print)).claimed
    again = job_of(travelled(job_content(job)))
    assert isinstance(again.lease.id, UUID)
    assert isinstance(again.enqueued_at, datetime)


def test_during_a_completion_of_the_handlers_own_the_keeper_stands_back() -> None:
    job, held = entry(Handler("t", print)), Held()
    held.add([job])
    errand = Errand(job, held, lambda *_: None, lambda _: None)
    fence = job.lease.fence
    errand.heard({"kind": "take", "fence": fence, "n": 1})
    assert not held.take(job, "keeper")
    errand.heard({"kind": "completed", "fence": fence, "open": True, "verb": "complete"})
    errand.heard({"kind": "put down", "fence": fence, "open": True})
    assert held.take(job, "keeper")
    assert job.completing
    assert job.own_is_open()
    errand.heard({"kind": "state", "fence": fence, "n": 2, "open": False})
    assert not job.own_is_open()


def test_a_child_that_dies_in_a_completion_leaves_nothing_in_its_hands() -> None:
    job, held = entry(Handler("t", print)), Held()
    held.add([job])
    errand = Errand(job, held, lambda *_: None, lambda _: None)
    errand.heard({"kind": "take", "fence": job.lease.fence, "n": 1})
    fence = job.lease.fence
    errand.heard({"kind": "completed", "fence": fence, "open": True, "verb": "retry"})
    errand.close()
    assert held.take(job, "settler")
    assert not job.own_is_open()
