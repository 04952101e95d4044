"""What operators did is written down: who, with which label, to what."""

from __future__ import annotations

from tests.protocol.calls import Ledger


def test_each_operators_verb_has_its_row(ledger: Ledger) -> None:
    who = ledger.one("select session_user::text")
    ledger.rows("select emq.pause('q', 'deploy 7')")
    ledger.rows("select emq.resume('q', 'deploy 7')")
    ledger.rows("select emq.configure('q', p_max_attempts => 4, p_label => 'ann')")
    ledger.rows("select emq.tag('production', 'ann')")
    rows = ledger.rows("select verb, queue, id, who, label, detail from emq.audit order by at")
    assert rows == [
        ("pause", "q", None, who, "deploy 7", None),
        ("resume", "q", None, who, "deploy 7", None),
        ("configure", "q", None, who, "ann", {"max_attempts": 4}),
        ("tag", None, None, who, "ann", {"environment": "production"}),
    ]


def test_a_job_that_was_cancelled_replayed_or_discarded_says_by_whom(ledger: Ledger) -> None:
    ids = ledger.add(2, "q", max_attempts=1)
    cancelled = ledger.add_one("q")
    ledger.operate("cancel", cancelled, "typo")
    for held in ledger.claim(2, "q"):
        ledger.retry(held, error="boom")
    ledger.operate("replay", ids[0], "fixed")
    ledger.operate("discard", ids[1], "useless")
    rows = ledger.rows("select verb, queue, id, label, detail from emq.audit order by at")
    assert rows == [
        ("cancel", "q", cancelled, "typo", None),
        ("replay", "q", ids[0], "fixed", {"reason": "exception", "stalled": 0, "failures": 1}),
        ("discard", "q", ids[1], "useless", {"reason": "exception", "error": "boom"}),
    ]


def test_what_was_not_done_is_not_written_down(ledger: Ledger) -> None:
    held = ledger.start()
    ledger.complete(held)
    for verb in ("cancel", "replay", "discard"):
        assert ledger.operate(verb, held.id) == "lost"
    assert ledger.one("select count(*) from emq.audit") == 0


def test_settings_that_are_not_given_stay_as_they_are(ledger: Ledger) -> None:
    ledger.rows("select emq.configure('q', p_lease => '9 s', p_max_stalled => 5)")
    ledger.rows("select emq.configure('q', p_retention => '3 d')")
    row = ledger.row(
        "select extract(epoch from lease)::int, max_attempts, max_stalled,"
        " extract(epoch from retention)::int, paused from emq.queue"
    )
    assert row == (9, 25, 5, 259200, False)


def test_a_pause_keeps_the_settings_and_settings_keep_the_pause(ledger: Ledger) -> None:
    ledger.rows("select emq.configure('q', p_max_stalled => 5)")
    ledger.rows("select emq.pause('q')")
    ledger.rows("select emq.configure('q', p_max_attempts => 4)")
    assert ledger.row("select paused, max_stalled, max_attempts from emq.queue") == (True, 5, 4)
