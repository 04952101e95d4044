"""at_home and adopt: a copy is told from the original, and becomes a ledger of its own."""

from __future__ import annotations

import pytest

from tests.plugins.databases import Database
from tests.protocol.calls import Ledger, refused
from tests.protocol.emptying import counts

ELSEWHERE = "1/1"


def home(ledger: Ledger) -> str | None:
    found: str | None = ledger.one("select home from emq.meta")
    return found


def at_home(ledger: Ledger, environment: str | None = None) -> str:
    answer: str = ledger.one("select emq.at_home(%s)", environment)
    return answer


def moved(ledger: Ledger) -> None:
    """As a restored dump finds itself: its home is another server's."""
    at_home(ledger)
    ledger.run("update emq.meta set home = %s", ELSEWHERE)


def adopt(
    ledger: Ledger, how: str | None, environment: str | None = None, limit: int = 1000
) -> tuple[object, ...]:
    return ledger.row(
        "select status, cancelled, discarded, paused from emq.adopt(%s, %s, %s, 'a copy')",
        environment, how, limit,
    )  # fmt: skip


def populate(ledger: Ledger) -> None:
    """Jobs in each live place, in several queues."""
    ledger.start("runs")
    ledger.add(2, "waits")
    ledger.add_one("later", delay="1 h")
    ledger.add_one("died", max_attempts=1)
    ledger.retry(ledger.take("died"))
    ledger.rows("select emq.set_queue('empty', '{\"max_active\": 3}')")
    ledger.rows("select emq.worker_seen('w1', '{runs}', 1, '1')")


def test_the_first_who_asks_makes_it_the_home(ledger: Ledger) -> None:
    assert home(ledger) is None
    assert at_home(ledger) == "yes"
    assert home(ledger) == ledger.one("select emq.here()")
    assert at_home(ledger, "production") == "yes"


def test_here_is_the_server_and_the_database(ledger: Ledger) -> None:
    wanted = ledger.one(
        "select (select system_identifier from pg_control_system()) || '/' || oid"
        " from pg_database where datname = current_database()"
    )
    assert ledger.one("select emq.here()") == wanted


def test_an_untagged_database_elsewhere_is_not_at_home_whatever_is_claimed(ledger: Ledger) -> None:
    moved(ledger)
    assert at_home(ledger) == at_home(ledger, "production") == "no"
    assert home(ledger) == ELSEWHERE


def test_a_tagged_one_is_at_home_wherever_its_application_names_the_tag(ledger: Ledger) -> None:
    moved(ledger)
    ledger.rows("select emq.tag('production')")
    assert at_home(ledger) == at_home(ledger, "staging") == "no"
    assert at_home(ledger, "production") == "yes"
    assert home(ledger) == ledger.one("select emq.here()")
    detail = ledger.one("select detail from emq.audit where verb = 'moved'")
    assert (detail["from"], detail["environment"]) == (ELSEWHERE, "production")


def test_where_the_server_does_not_say_where_it_is_nothing_is_known(
    db: Database, ledger: Ledger
) -> None:
    """As on a service that keeps pg_control_system to itself."""
    moved(ledger)
    role = f"{db.name}_owner"
    ledger.run(f'create role "{role}"')
    try:
        ledger.run("revoke execute on function pg_control_system() from public")
        ledger.run(f'grant usage on schema emq to "{role}"')
        ledger.run(f'grant select, update on emq.meta to "{role}"')
        for name in ("here()", "at_home(text)"):
            ledger.run(f'alter function emq.{name} owner to "{role}"')
        assert ledger.one("select emq.here()") is None
        assert at_home(ledger) == "unknown"
        assert home(ledger) == ELSEWHERE
    finally:
        ledger.run("reset role")
        for name in ("here()", "at_home(text)"):
            ledger.run(f"alter function emq.{name} owner to current_user")
        ledger.run(f'drop owned by "{role}"')
        ledger.run(f'drop role "{role}"')


def test_a_meta_row_that_is_locked_keeps_no_worker_from_its_start(
    ledger: Ledger, other: Ledger
) -> None:
    other.rows("select * from emq.meta for update")
    assert at_home(ledger) == "yes"
    assert home(ledger) is None


@pytest.mark.parametrize("how", ["run", "hold", "discard"])
def test_what_is_adopted_is_a_ledger_of_its_own(ledger: Ledger, how: str) -> None:
    populate(ledger)
    ledger.rows("select emq.tag('production')")
    moved(ledger)
    before = ledger.one("select ledger_id from emq.meta")
    while adopt(ledger, how, "staging")[0] == "more":
        assert ledger.one("select environment from emq.meta") == "production"
        assert ledger.rows("select * from emq.misplaced") == []
    environment, ledger_id = ledger.row("select environment, ledger_id from emq.meta")
    assert (environment, ledger_id != before) == ("staging", True)
    assert home(ledger) == ledger.one("select emq.here()")
    assert at_home(ledger, "staging") == "yes"
    assert ledger.rows("select * from emq.worker") == []
    label, detail = ledger.row("select label, detail from emq.audit where verb = 'adopt'")
    assert label == "a copy"
    assert detail["what"] == how
    assert detail["was"] == {
        "environment": "production", "home": ELSEWHERE, "ledger_id": str(before),
    }  # fmt: skip


def test_what_is_adopted_to_run_stays_as_it_is(ledger: Ledger) -> None:
    populate(ledger)
    before = counts(ledger)
    assert adopt(ledger, "run") == ("done", 0, 0, [])
    assert counts(ledger) == before
    assert ledger.rows("select name from emq.queue where paused") == []


def test_what_is_held_is_claimed_by_nobody_until_it_is_resumed(ledger: Ledger) -> None:
    populate(ledger)
    ledger.rows(
        'select emq.set_queue(\'died\', \'{"on_dead": "tell", "on_dead_queue": "alarms"}\')'
    )
    before = counts(ledger)
    assert adopt(ledger, "hold") == ("done", 0, 0, ["alarms", "died", "later", "runs", "waits"])
    assert counts(ledger) == before
    for queue in ("runs", "waits", "later", "died", "alarms"):
        assert ledger.claim(9, queue) == []
    assert ledger.column("select name from emq.queue where not paused") == ["empty"]
    ledger.rows("select emq.resume('waits')")
    assert len(ledger.claim(9, "waits")) == 2


def test_what_is_discarded_is_given_up_in_batches(ledger: Ledger) -> None:
    populate(ledger)
    held = ledger.start("runs")
    found = []
    while True:
        found.append(adopt(ledger, "discard", limit=1))
        if found[-1][0] != "more":
            break
    assert found[-1][0] == "done"
    assert [sum(column) for column in zip(*[row[1:3] for row in found], strict=True)] == [5, 1]
    left = counts(ledger)
    assert [left[table] for table in ("pending", "scheduled", "active", "dead")] == [0, 0, 0, 0]
    statuses = ledger.rows("select status, count(*) from emq.archive group by 1 order by 1")
    assert statuses == [("cancelled", 5), ("discarded", 1)]
    assert ledger.complete(held) == ["lost"]


def test_what_an_open_transaction_has_is_busy_and_nothing_is_adopted(
    ledger: Ledger, other: Ledger
) -> None:
    held = ledger.start()
    other.guard(held)
    assert adopt(ledger, "discard", "staging")[0] == "busy"
    assert ledger.one("select environment from emq.meta") is None
    other.conn.rollback()
    assert adopt(ledger, "discard", "staging")[0] == "done"


def test_a_database_in_which_workers_are_at_work_is_no_copy(db: Database, ledger: Ledger) -> None:
    populate(ledger)
    worker = db.connect(application_name="emq loop host:1")
    before = ledger.row("select * from emq.meta"), counts(ledger)
    for how in ("run", "hold", "discard"):
        assert adopt(ledger, how, "staging") == ("workers", 0, 0, [])
    assert (ledger.row("select * from emq.meta"), counts(ledger)) == before
    worker.close()
    ledger.until(lambda: adopt(ledger, "run")[0] == "done", "adopted")


@pytest.mark.parametrize("how", ["", "keep", None])
def test_another_way_is_refused(ledger: Ledger, how: str | None) -> None:
    with refused("EQ006", hint="run, hold or discard"):
        adopt(ledger, how)
