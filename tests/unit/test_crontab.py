"""Which jobs pg_cron should have, and how one does: decided without asking anybody."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emq_sql.errors import BadSetting, NoPgCron
from emq_sql.upkeep import crontab

DATABASES = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1
).filter(lambda name: len(name.encode()) <= 63)
SCHEMAS = st.from_regex(r"[a-z_][a-z0-9_]{0,39}", fullmatch=True)


def kinds(version: str, **given: Any) -> dict[str, tuple[str, str]]:
    """Schedule and command by kind."""
    jobs = crontab.wanted(version, "shop", "emq", **given)
    return {job.kind: (job.schedule, job.command.partition(" */ ")[2]) for job in jobs}


@given(DATABASES, SCHEMAS)
def test_each_name_fits_and_says_what_it_is_for(database: str, schema: str) -> None:
    names = crontab.names(database, schema)
    for kind, name in names.items():
        assert len(name.encode()) <= 63
        assert name.startswith("emq:") and name.endswith(f":{schema}:{kind}")
    whole = f"emq:{database}:{schema}:maintain"
    assert names["maintain"] == whole or len(whole.encode()) > 63


@given(st.sets(st.tuples(DATABASES, SCHEMAS), min_size=2, max_size=2))
def test_two_ledgers_share_no_name_and_no_mark(ledgers: set[tuple[str, str]]) -> None:
    one, two = ledgers
    assert set(crontab.names(*one).values()).isdisjoint(crontab.names(*two).values())
    assert crontab.mark(*one) != crontab.mark(*two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (("shop:emq", "a"), ("shop", "emq_a")),
        (("shop:emq", "emq"), ("shop", "emq")),
        (("d" * 62 + "x", "emq"), ("d" * 62 + "y", "emq")),
        (("é" * 31, "emq"), ("é" * 30, "emq")),
    ],
)
def test_names_that_are_cut_or_have_colons_stay_apart(
    one: tuple[str, str], two: tuple[str, str]
) -> None:
    assert set(crontab.names(*one).values()).isdisjoint(crontab.names(*two).values())


@given(DATABASES, SCHEMAS)
def test_no_name_of_a_database_ends_the_comment_that_begins_a_command(
    database: str, schema: str
) -> None:
    for job in crontab.wanted("1.6", database, schema):
        assert job.command.startswith(f"{crontab.mark(database, schema)}{job.kind} */ ")


@pytest.mark.parametrize("version", ["1.5", "1.6", "1.6.7", "1.10", "2.0"])
def test_seconds_are_used_where_there_are_seconds(version: str) -> None:
    found = kinds(version, every=7)
    assert set(found) == {"maintain", "tidy", "prune"}
    assert found["maintain"] == ("7 seconds", "select emq.maintain()")
    assert found["tidy"] == ("* * * * *", "call emq.maintain_loop(50, '1 min')")


@pytest.mark.parametrize("version", ["1.4", "1.4-1", "1.4.2"])
def test_below_a_loop_is_started_each_minute(version: str) -> None:
    found = kinds(version, every=7)
    assert set(found) == {"maintain", "prune"}
    schedule, command = found["maintain"]
    assert schedule == "* * * * *"
    assert command.startswith("call emq.maintain_loop(") and command.endswith(", '7 s')")


@pytest.mark.parametrize("version", ["1.3", "1.0", "0.1", "odd", ""])
def test_too_old_a_version_is_refused_with_what_to_do(version: str) -> None:
    with pytest.raises(NoPgCron, match=r"emq maintain"):
        kinds(version)


@pytest.mark.parametrize("every", [0, -1, 60, 3600])
def test_what_pg_cron_has_no_schedule_for_is_refused(every: int) -> None:
    with pytest.raises(BadSetting, match="1 to 59"):
        kinds("1.6", every=every)


@pytest.mark.parametrize("every", [1, 5, 59])
@pytest.mark.parametrize("version", ["1.4-1", "1.6"])
def test_the_interval_is_read_back_from_the_job(version: str, every: int) -> None:
    schedule, command = kinds(version, every=every)["maintain"]
    assert crontab.reap_interval(schedule, command) == every


@pytest.mark.parametrize(
    ("schedule", "seconds"),
    [
        ("5 seconds", 5), ("59 seconds", 59), ("60 seconds", None), ("0 seconds", None),
        ("* * * * *", 60), ("17 * * * *", 3600), ("*/5 * * * *", None), ("*/5 * * * * *", None),
        ("@hourly", None),
    ],
)  # fmt: skip
def test_how_long_a_schedule_waits_is_known_of_our_own_forms(
    schedule: str, seconds: int | None
) -> None:
    assert crontab.period(schedule) == seconds


def job(schedule: str = "5 seconds", **given: Any) -> dict[str, Any]:
    return {"schedule": schedule, "active": True} | given


def run(seconds: float, status: str = "succeeded", message: str | None = None) -> dict[str, Any]:
    return {"seconds": seconds, "status": status, "message": message}


def test_what_is_well_has_no_trouble() -> None:
    assert crontab.trouble(job(), run(3.0)) is None
    assert crontab.trouble(job("* * * * *"), run(59.0, "running")) is None
    assert crontab.trouble(job(), None) is None  # it was installed just now
    assert crontab.lateness(job(), run(12.0)) == 0


def test_each_trouble_has_its_words() -> None:
    assert crontab.trouble(job(active=False), run(1.0)) == "switched off"
    failed = crontab.trouble(job(), run(1.0, "failed", "ERROR: no rights\nCONTEXT: x"))
    assert failed == "failed: ERROR: no rights"
    assert crontab.trouble(job(), run(1.0, "failed")) == "failed: without a word"
    assert crontab.trouble(job(), run(600.0)) == "the last run began 600 s ago"
    assert crontab.lateness(job(), run(600.0)) == 595.0


def test_a_schedule_of_six_fields_is_a_trouble() -> None:
    """pg_cron takes it, leaves out the sixth, and runs every five minutes."""
    assert "six fields" in (crontab.trouble(job("*/5 * * * * *"), run(1.0)) or "")
