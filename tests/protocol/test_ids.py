"""Ids are UUIDv7: found in the archive by their instant, and made alike in SQL and in Python."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import RFC_4122, UUID, uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emq_sql.rules import ids
from tests.protocol.calls import Ledger, refused

A_WORD = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
AN_INSTANT = st.datetimes(datetime(1970, 1, 1), datetime(9999, 1, 1), timezones=st.just(UTC))
# From 2242 on the microseconds of to_timestamp() are rounded; the id itself is exact for ever.
A_NEAR_INSTANT = st.datetimes(datetime(1970, 1, 1), datetime(2240, 1, 1), timezones=st.just(UTC))
MANY = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@given(key=A_WORD, at=AN_INSTANT)
@MANY
def test_a_key_and_an_instant_make_the_same_id_in_sql_and_in_python(
    ledger: Ledger, key: str, at: datetime
) -> None:
    id = ledger.one("select emq.job_id(%s, %s)", key, at)
    assert id == ids.job_id(key, at)
    assert (id.version, id.variant) == (7, RFC_4122)


@given(at=A_NEAR_INSTANT)
@MANY
def test_the_instant_of_an_id_is_read_alike_in_sql_and_in_python(
    ledger: Ledger, at: datetime
) -> None:
    id = ids.job_id("k", at)
    assert ledger.one("select emq.id_time(%s)", id) == ids.id_time(id)


def test_an_id_that_the_server_mints_is_of_now(ledger: Ledger) -> None:
    before, id = ledger.row("select clock_timestamp(), emq.uuid7()")
    assert (id.version, id.variant) == (7, RFC_4122)
    assert abs(ids.id_time(id) - before) < timedelta(minutes=1)


def test_an_id_that_is_not_version_seven_is_refused_with_the_remedy(ledger: Ledger) -> None:
    id = uuid4()
    assert ledger.one("select emq.id_time(%s)", id) is None
    with refused("EQ002", hint="emq.job_id", names=id):
        ledger.rows("select emq.enqueue('default', 't', '{}', %s)", id)
    with refused("EQ002", hint="emq.job_id", names=id):
        ledger.add_many([id])


@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_bad_id_in_a_batch_is_found_wherever_it_stands(ledger: Ledger, place: int) -> None:
    batch = [ledger.one("select emq.uuid7()") for _ in range(2)]
    batch.insert(place, uuid4())
    with refused("EQ002", names=batch[place]):
        ledger.add_many(batch)


def test_an_id_dated_more_than_a_day_ahead_is_refused_with_the_remedy(ledger: Ledger) -> None:
    ahead = ledger.one("select emq.job_id('k', clock_timestamp() + interval '25 h')")
    with refused("EQ003", hint="clock", names=ahead):
        ledger.rows("select emq.enqueue('default', 't', '{}', %s)", ahead)
    with refused("EQ003", hint="clock", names=ahead):
        ledger.add_many([ahead, ledger.one("select emq.uuid7()")])


@pytest.mark.parametrize("shift", ["0 h", "-40 d", "23 h"])
def test_a_deterministic_id_of_any_day_is_a_duplicate_while_live_and_after_its_end(
    ledger: Ledger, shift: str
) -> None:
    id: UUID = ledger.one("select emq.job_id('order 42', now() + %s::interval)", shift)
    assert [ledger.status(id), ledger.status(id)] == ["enqueued", "duplicate"]
    held = ledger.take()
    assert ledger.complete(held) == ["done"]
    assert ledger.status(id) == "duplicate"
    assert ledger.complete(held) == ["done"]  # the archive is found by the id's instant
    assert ledger.outcome(held) == "completed"


def test_two_ids_of_the_same_key_at_two_instants_differ() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    assert ids.job_id("k", at) != ids.job_id("k", at + timedelta(milliseconds=1))


def test_a_null_key_makes_no_id(ledger: Ledger) -> None:
    assert ledger.one("select emq.job_id(null, now())") is None
    with pytest.raises(psycopg.Error):
        ledger.rows("select emq.job_id('k', 'infinity')")
