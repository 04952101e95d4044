"""pause: from its commit on no claim takes a job of the queue; jobs that run go on."""

from __future__ import annotations

from tests.plugins.databases import Database
from tests.protocol.calls import Ledger, refused
from tests.protocol.gap import GATE, Call


def test_a_paused_queue_gives_nothing_and_a_resumed_one_its_head(ledger: Ledger) -> None:
    ids = ledger.add(2)
    ledger.rows("select emq.pause('default')")
    assert ledger.claim(5) == []
    ledger.rows("select emq.resume('default')")
    assert [held.id for held in ledger.claim(5)] == ids


def test_a_session_with_cached_plans_sees_a_pause_of_another(ledger: Ledger, third: Ledger) -> None:
    for _ in range(8):
        ledger.complete(ledger.start())
    ledger.add()
    third.rows("select emq.pause('default')")
    assert ledger.claim(5) == []
    third.rows("select emq.resume('default')")
    assert len(ledger.claim(5)) == 1


def test_an_uncommitted_pause_holds_nobody(ledger: Ledger, other: Ledger) -> None:
    ledger.add(2)
    other.rows("select emq.pause('default')")
    assert len(ledger.claim(1)) == 1
    other.conn.commit()
    assert ledger.claim(1) == []


def test_a_pause_that_commits_between_look_and_claim_holds(ledger: Ledger, other: Ledger) -> None:
    """The claim looks at the queue once more in the snapshot of its own statement."""
    ledger.add()
    definition = ledger.one("select pg_get_functiondef('emq.claim'::regproc)")
    look = "if v_paused or"
    assert look in definition
    wait = f"perform pg_advisory_xact_lock_shared({GATE});"
    ledger.run(definition.replace(look, f"{wait}\n  {look}"))
    other.run("select pg_advisory_xact_lock(%s)", GATE)
    other.rows("select emq.pause('default')")
    pid = ledger.one("select pg_backend_pid()")
    call = Call(lambda: ledger.claim(5))
    other.wait("exists (select from pg_locks where pid = %s and not granted)", pid)
    other.conn.commit()
    assert call.result() == []


def test_jobs_that_run_go_on_while_the_queue_is_paused(ledger: Ledger) -> None:
    held = ledger.start()
    ledger.rows("select emq.pause('default')")
    assert ledger.extend(held) == ["done"]
    assert ledger.complete(held) == ["done"]


def test_a_paused_queue_still_takes_jobs_reaps_and_promotes(ledger: Ledger) -> None:
    held = ledger.abandoned()
    ledger.rows("select emq.pause('default')")
    ledger.add()
    waiting = ledger.add_one(delay="50 ms")
    assert ledger.reap() == (1, 0, 0)
    ledger.until(lambda: ledger.promote() == 1, "the delay is over")
    assert ledger.place(held.id) == ledger.place(waiting) == "pending"


def test_other_queues_are_not_paused(ledger: Ledger) -> None:
    ledger.add(queue="other")
    ledger.rows("select emq.pause('default')")
    assert len(ledger.claim(5, "other")) == 1


def test_repeats_are_harmless_and_a_bad_name_is_refused(ledger: Ledger) -> None:
    for verb in ("pause", "pause", "resume", "resume"):
        ledger.rows(f"select emq.{verb}('default')")
    for verb in ("pause", "resume", "configure"):
        with refused("EQ006"):
            ledger.rows(f"select emq.{verb}('No Such')")


STEERING = (
    "select emq.pause('default')", "select emq.resume('default')",
    "select emq.configure('default', p_lease => '9 s')",
    "select emq.set_queue('default', '{\"lease\": \"9 s\"}')",
)  # fmt: skip


def test_who_steers_does_not_wait_for_ever_behind_an_open_transaction(
    db: Database, ledger: Ledger, other: Ledger
) -> None:
    ledger.set_queue(lease="5 s")
    other.set_queue(lease="7 s")
    patient = [Ledger(db.connect(options="-c lock_timeout=0")) for _ in STEERING]
    calls = [
        Call(lambda session=session, verb=verb: session.rows(verb))  # type: ignore[misc]
        for session, verb in zip(patient, STEERING, strict=True)
    ]
    for call in calls:
        with refused("55P03"):
            call.result()
