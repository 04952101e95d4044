"""maintain_loop: upkeep that commits as it goes, for a scheduler that starts it once a minute."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import psycopg
import pytest

from tests.plugins.databases import Database
from tests.protocol.calls import Ledger, refused

LONG = "call emq.maintain_loop(600, '100 ms')"
BROKEN, MENDED = (
    "alter function emq.promote rename to was_promote",
    "alter function emq.was_promote rename to promote",
)


class Loop:
    """A session that is in the middle of the call, until it is cancelled."""

    def __init__(self, conn: psycopg.Connection[Any], call: str) -> None:
        self.warnings: list[str] = []
        self._conn = conn
        conn.add_notice_handler(lambda said: self.warnings.append(said.message_primary or ""))
        self._thread = threading.Thread(target=self._run, args=(call,), daemon=True)
        self._thread.start()

    def _run(self, call: str) -> None:
        with suppress(psycopg.errors.QueryCanceled):
            self._conn.execute(call.encode())

    def end(self) -> None:
        while self._thread.is_alive():
            self._conn.cancel_safe()
            self._thread.join(0.1)


@pytest.fixture
def looping(db: Database) -> Iterator[Callable[..., Loop]]:
    """Starts sessions that loop; they end with the test."""
    started: list[Loop] = []

    def start(call: str = LONG) -> Loop:
        started.append(Loop(db.connect(), call))
        return started[-1]

    yield start
    for loop in started:
        loop.end()


def passes(ledger: Ledger) -> int:
    """How many there were: each writes a row, with the next number; the last one is committed."""
    drawn = "select last_value from pg_sequences where schemaname = 'emq' and sequencename = %s"
    committed = ledger.one("select max(n) from emq.settled")
    assert committed == ledger.one(drawn, "settled_n_seq")
    return int(committed)


def test_it_makes_passes_and_ends_by_itself(ledger: Ledger) -> None:
    held, before = ledger.abandoned(), passes(ledger)
    ledger.run("call emq.maintain_loop(1, '200 ms')")
    assert ledger.place(held.id) == "pending"
    assert passes(ledger) - before >= 4


def test_what_a_pass_has_done_is_committed_while_the_call_goes_on(
    ledger: Ledger, looping: Callable[..., Loop]
) -> None:
    looping()
    for _ in range(2):
        held = ledger.abandoned()
        ledger.wait("(select place = 'pending' from emq.place(%s))", held.id)
        ledger.complete(ledger.take())


def test_while_it_sleeps_it_holds_no_lock_and_no_old_snapshot(
    ledger: Ledger, looping: Callable[..., Loop]
) -> None:
    looping("call emq.maintain_loop(600, '300 s')")
    loops = "from pg_stat_activity where datname = current_database() and query like 'call emq%%'"
    asleep = f"{loops} and wait_event = 'PgSleep'"
    ledger.wait(f"exists (select {asleep})")
    assert ledger.maintain()  # the lock of upkeep is free
    first = ledger.one(f"select xact_start {loops}")
    ledger.wait(f"exists (select {asleep} and xact_start > %s)", first)


def test_a_full_pass_is_followed_at_once_by_the_next(ledger: Ledger) -> None:
    """Three passes are needed for these, and an hour lies between two that are not full."""
    ledger.run(
        "select emq.enqueue('default', 't', '{}', emq.uuid7(), p_delay => '1 ms')"
        " from generate_series(1, 2500)"
    )
    ledger.wait("not exists (select from emq.scheduled where run_at > clock_timestamp())")
    ledger.run("call emq.maintain_loop(30, '1 h')")
    assert ledger.one("select count(*) from emq.pending") == 2500


def test_what_is_old_is_tidied_in_one_call_step_by_step(ledger: Ledger) -> None:
    ledger.run(
        "insert into emq.audit (at, verb) select now() - interval '2 years', 'x'"
        " from generate_series(1, 4500)"
    )  # what is two years old cannot be had by waiting
    ledger.run("call emq.maintain_loop(30, '1 h')")
    assert ledger.one("select count(*) from emq.audit where verb = 'x'") == 0


def test_a_pass_that_fails_is_a_warning_and_the_next_ones_go_on(
    ledger: Ledger, looping: Callable[..., Loop]
) -> None:
    held = ledger.abandoned()
    ledger.run(BROKEN)
    loop = looping()
    ledger.until(lambda: len(loop.warnings) >= 2, "two passes failed")
    assert loop.warnings[0].startswith("emq: a pass of upkeep failed: ")
    assert ledger.place(held.id) == "active"
    ledger.run(MENDED)
    ledger.wait("(select place = 'pending' from emq.place(%s))", held.id)


def test_trouble_with_what_is_old_disturbs_no_reap_and_is_told_at_the_end(ledger: Ledger) -> None:
    held, before = ledger.abandoned(), passes(ledger)
    ledger.run("alter function emq.tidy rename to was_tidy")
    with pytest.raises(psycopg.errors.RaiseException, match="last step of tidying failed"):
        ledger.run("call emq.maintain_loop(1, '200 ms')")
    assert ledger.place(held.id) == "pending"
    assert passes(ledger) - before >= 4


def test_a_last_pass_that_failed_is_told_at_the_end(ledger: Ledger) -> None:
    ledger.run(BROKEN)
    with pytest.raises(psycopg.errors.RaiseException, match="last pass of upkeep failed"):
        ledger.run("call emq.maintain_loop(0)")


def test_the_floors_rise_whatever_isolation_is_the_default(ledger: Ledger) -> None:
    """maintain leaves them as they are in a transaction that is not READ COMMITTED."""
    before = passes(ledger)
    ledger.run("set default_transaction_isolation = serializable")
    ledger.run("call emq.maintain_loop(0)")
    assert passes(ledger) == before + 1


def test_a_schema_in_front_of_the_path_changes_nothing(ledger: Ledger) -> None:
    ledger.run("create schema evil")
    for trap in (
        "create function evil.make_interval(secs int) returns interval language sql"
        " as $$ select interval '100 years' $$",
        "create function evil.later(timestamptz, interval) returns timestamptz language sql"
        " as $$ select 'infinity'::timestamptz $$",
        "create operator evil.+"
        " (leftarg = timestamptz, rightarg = interval, procedure = evil.later)",
        "create function evil.pg_sleep(numeric) returns void language plpgsql"
        " as $$ begin raise exception 'met'; end $$",
        "create type evil.timestamptz as (x int)",
        "set search_path = evil, pg_catalog",
    ):
        ledger.run(trap)
    ledger.run("call emq.maintain_loop(1, '400 ms')")
    assert ledger.one("show search_path") == "evil, pg_catalog"


@pytest.mark.parametrize(
    "arguments", ["null", "-1", "5, null", "5, '0 s'", "5, '99 ms'", "5, '-1 s'"]
)
def test_numbers_that_cannot_be_are_refused_and_nothing_is_done(
    ledger: Ledger, arguments: str
) -> None:
    before = passes(ledger)
    with refused("EQ006", hint="p_seconds"):
        ledger.run(f"call emq.maintain_loop({arguments})")
    assert passes(ledger) == before


def test_it_is_refused_inside_a_transaction_block(other: Ledger) -> None:
    with refused("2D000"):
        other.run("call emq.maintain_loop(0)")
    other.conn.rollback()


def test_two_at_once_do_each_others_work(ledger: Ledger, looping: Callable[..., Loop]) -> None:
    for _ in range(2):
        looping()
    ledger.add(5)
    held = ledger.claim(5, lease="1 ms")
    ledger.wait("(select count(*) = 5 from emq.pending where stalled = 1)")
    again = "select count(*) from emq.attempt where id = any (%s)"
    assert ledger.one(again, [one.id for one in held]) == len(held)
