"""pg_cron does the upkeep while no process of emq_sql is alive: real servers, real minutes."""

from __future__ import annotations

import pytest

from emq_sql.upkeep import crontab
from tests.cron.clusters import HOME, found, ledger
from tests.cron.conftest import KEEPER, LOOKS, Evening
from tests.protocol.calls import Ledger

SUCCEEDED = ("starting", "running", "sending", "succeeded")


@pytest.mark.parametrize("name", ["home", "shop", "odd", "kept"])
def test_what_a_killed_worker_held_comes_back_although_nobody_is_there(
    evening: Evening, name: str
) -> None:
    """In its own database, in another one, with an odd name, and as a role that owns a ledger."""
    place = evening[name]
    again = Ledger(place.field.reader).take()
    assert (again.id, again.attempts, again.stalled) == (evening.abandoned[name], 2, 1)
    assert place.field.rows("select how from emq.attempt") == [("stalled",)]
    (who,) = place.field.rows("select distinct who from emq.reap_log where recovered = 1")
    assert not who[0].startswith("emq")


def test_status_tells_how_each_job_did(evening: Evening) -> None:
    said = evening["shop"].emq("cron", "status", "--json").json
    assert {one["job"] for one in said} == {"emq:shop:emq:maintain", "emq:shop:emq:prune"}
    for one in said:
        assert one["last_status"] in SUCCEEDED and one["last_start"]
        assert (one["trouble"], one["late_seconds"], one["role"]) == (None, 0, "postgres")
    lines = evening["shop"].emq("cron", "status").lines
    assert len(lines) == 3 and lines[0].split()[:2] == ["job", "schedule"]


def test_looking_changes_nothing_and_what_was_due_ran_all_the_same(evening: Evening) -> None:
    before, after = evening.unlooked
    assert before == after
    assert len(evening.looked) == LOOKS
    assert {tuple(one.job for one in look) for look in evening.looked} == {
        ("emq:shop:emq:maintain", "emq:shop:emq:prune")
    }
    assert evening.plain.runs(evening["shop"].jobs["maintain"][0]) != []


def test_only_its_own_runs_are_pruned_and_the_newest_stay(evening: Evening) -> None:
    plain = evening.plain
    mark = crontab.mark("shop", "emq")
    ids = [job[0] for job in evening["shop"].jobs.values()]
    ours = "from cron.job_run_details where jobid = any (%s) or starts_with(command, %s)"
    since = 20  # at most, if the minute comes twice meanwhile
    assert crontab.KEEP <= plain.one(f"select count(*) {ours}", ids, mark) <= crontab.KEEP + since
    assert plain.one(f"select count(*) {ours} and command <> 'fake'", ids, mark) >= 2
    others = "select count(*) from cron.job_run_details where jobid = %s and command = 'fake'"
    assert plain.one(others, evening.other) == 10


def test_the_doctor_says_that_pg_cron_should_and_why_it_does_not(evening: Evening) -> None:
    told = evening["broken"].emq("doctor", "--json")
    assert told.code == 1
    assert found(told.out, "pg_cron")["state"] == "warn"
    stuck = found(told.out, "stuck")
    assert stuck["state"] == "bad" and stuck["found"].startswith("1 leases ")
    assert "pg_cron should: " in stuck["advice"] and "division by zero" in stuck["advice"]
    told = evening["broken"].emq("cron", "status")
    assert told.code == 1 and "division by zero" in told.out


def test_the_doctor_is_content_where_pg_cron_alone_reaps(evening: Evening) -> None:
    told = evening["home"].emq("doctor", "--json")
    assert told.code == 0, told.out
    assert found(told.out, "last reap")["state"] == "ok"
    assert found(told.out, "stuck")["state"] == "ok"
    assert found(told.out, "pg_cron")["found"].startswith("2 jobs, ")


def test_installing_again_changes_the_jobs_in_place(evening: Evening) -> None:
    place = evening["home"]
    before = place.jobs
    done = {one["job"].rpartition(":")[2]: one["did"] for one in place.install("--every", "9")}
    assert done == {"maintain": "changed", "prune": "kept"}
    assert {kind: job[0] for kind, job in place.jobs.items()} == {
        kind: job[0] for kind, job in before.items()
    }
    assert "'9 s'" in place.jobs["maintain"][2]
    assert {one["did"] for one in place.install("--every", "9")} == {"kept"}


def test_a_job_that_was_switched_off_is_told_and_goes_on_when_installed_again(
    evening: Evening,
) -> None:
    place = evening["odd"]
    evening.plain.run("select cron.alter_job(%s, active => false)", place.jobs["maintain"][0])
    told = place.emq("cron", "status")
    assert told.code == 1 and "switched off" in told.out
    place.install()
    assert set(place.jobs) == {"maintain", "prune"}
    assert place.emq("cron", "status").code == 0


def test_a_schedule_of_six_fields_that_pg_cron_takes_is_told(evening: Evening) -> None:
    place = evening["odd"]
    job = place.jobs["maintain"][0]
    evening.plain.run("select cron.alter_job(%s, schedule => '*/5 * * * * *')", job)
    told = place.emq("cron", "status")
    assert told.code == 1 and "six fields" in told.out
    place.install()
    assert place.emq("cron", "status").code == 0


def test_what_is_missing_is_said_with_who_can_give_it(evening: Evening) -> None:
    assert "create extension pg_cron" in evening.not_created
    assert "Workers do the upkeep" in evening.not_created
    refused = evening.workers.emq("kept")("cron", "install").refused(2)
    assert "cron.enable_superuser_jobs" in refused and "owns the ledger" in refused
    assert "emq schema upgrade" in evening.workers.emq(HOME)("cron", "install").refused(1)


def test_each_right_that_a_role_lacks_is_named_and_with_them_it_installs(
    evening: Evening, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """And what it has installed stays its own when a superuser installs again."""
    plain = evening.plain
    place = ledger(plain, "lent", tmp_path_factory.mktemp("lent") / "logs", KEEPER)
    for grant in ("usage on schema cron", "execute on function cron.schedule_in_database"):
        assert f'grant {grant} to "{KEEPER}"' in place.emq("cron", "install").refused(1)
        assert place.jobs == {}
        plain.run(f"grant {grant} to {KEEPER}")
    assert {one["role"] for one in place.install()} == {KEEPER}
    before = place.jobs
    again = plain.emq("lent")("cron", "install", "--every", "9", "--json").json
    assert {(one["job"], one["did"], one["role"]) for one in again} == {
        ("emq:lent:emq:maintain", "changed", KEEPER), ("emq:lent:emq:prune", "kept", KEEPER),
    }  # fmt: skip
    assert {job[0] for job in place.jobs.values()} == {job[0] for job in before.values()}
    assert "'9 s'" in place.jobs["maintain"][2]


def test_a_role_that_may_not_do_the_upkeep_gets_no_job_of_it(evening: Evening) -> None:
    plain = evening.plain
    plain.run("create role stranger login; grant usage on schema cron to stranger")
    elsewhere = plain.dsn(HOME, "stranger")
    before = evening["shop"].jobs
    refused = evening["shop"].emq("cron", "install", "--cron-dsn", elsewhere).refused(2)
    assert '"stranger"' in refused and "emq.maintain_loop" in refused
    assert evening["shop"].jobs == before


def test_removing_takes_its_own_jobs_and_runs_and_nothing_elses(evening: Evening) -> None:
    plain, place = evening.plain, evening["shop"]
    others = "select jobid from cron.job where not starts_with(jobname::text, 'emq:shop:')"
    before = plain.run(f"{others} order by 1")
    former = place.jobs["maintain"][0]
    plain.run("select cron.unschedule(%s)", former)  # by hand; its runs stay behind
    plain.run("delete from cron.job_run_details where jobid = %s and command = 'fake'", former)
    assert plain.runs(former) != []
    removed = place.emq("cron", "remove", "--json").json
    assert removed["jobs"] == ["emq:shop:emq:prune"] and removed["runs"] > 0
    assert place.jobs == {}
    assert plain.runs(former) == []
    assert plain.run(f"{others} order by 1") == before
    assert plain.one("select count(*) from cron.job_run_details where jobid = %s", evening.other)
    assert place.emq("cron", "status").code == 3
    assert place.emq("cron", "remove", "--json").json == {"jobs": [], "runs": 0}
