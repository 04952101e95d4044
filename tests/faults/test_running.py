"""What a worker process does with the jobs it meets."""

from __future__ import annotations

from datetime import timedelta

from emq_sql.protocol import upkeep
from tests.faults.processes import Field


def test_jobs_with_leases_of_their_own_are_each_extended_in_time(field: Field) -> None:
    for seconds in (0.5, 2.0, 3600.0):
        field.enqueue("deaf", _lease=timedelta(seconds=seconds))
    field.start()
    field.until_started(3)
    field.until("select count(*) = 1 from emq.active where lease_ms = 500 and extensions >= 9")
    assert field.one("select extensions from emq.active where lease_ms = 3600000") == 0
    field.let_go()
    field.until_archived(3)
    assert field.one("select max(attempts) from emq.archive") == 1


def test_better_priorities_run_first(field: Field) -> None:
    for priority in (4, 2, 0, 3, 1):
        field.enqueue("own", 2, _priority=priority)
    assert field.start(burst=True, concurrency=1).wait() == 0
    ran = field.rows("select j.priority from effect e join emq.job j on j.id = e.job order by e.at")
    assert [priority for (priority,) in ran] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_an_unknown_task_is_snoozed_at_no_cost_and_said_once(field: Field) -> None:
    jobs = field.enqueue("no.such.task", 3, _max_attempts=1)
    field.enqueue("plain")
    worker = field.start(burst=True)
    assert worker.wait() == 0
    waiting = field.rows("select id, attempts, stalled, failures from emq.scheduled")
    assert sorted(waiting) == sorted((job, 1, 0, 0) for job in jobs)
    assert worker.said().count("knows no task 'no.such.task'") == 1
    assert field.one("select count(*) from emq.archive") == 1


def test_arguments_that_do_not_fit_are_a_failure_of_the_job_and_say_so(field: Field) -> None:
    field.enqueue("c_sleep", _max_attempts=1, minutes=3)
    field.enqueue("plain")
    assert field.start(burst=True).wait() == 0
    ((reason, error),) = field.rows("select reason, error from emq.dead")
    assert reason == "exception"
    assert "do not fit the task 'c_sleep'" in error
    assert "'seconds'" in error or "'minutes'" in error
    assert field.one("select count(*) from emq.archive") == 1


def test_a_run_over_its_timeout_counts_as_a_failure_and_its_late_result_is_ignored(
    field: Field,
) -> None:
    field.enqueue("out_of_time", _max_attempts=2)
    # One slot: the second attempt needs the first one's handler to heed that it was told to stop.
    field.start(concurrency=1)
    field.until("select count(*) = 1 from emq.dead")
    ((failures, error),) = field.rows("select failures, error from emq.dead")
    assert failures == 2
    assert "timed out after 0.3 s" in error
    assert field.one("select count(*) from emq.archive") == 0
    assert field.one("select count(*) from emq.refusal") == 0


def test_a_failure_is_retried_and_results_are_stored(field: Field) -> None:
    (job,) = field.enqueue("fails", times=2)
    field.start()
    field.until_archived(1)
    stored = field.rows("select id, result, attempts, failures from emq.archive")
    assert stored == [(job, "in the end", 3, 2)]
    errors = field.rows("select error from emq.attempt where how = 'failed'")
    assert all("ValueError: fails on purpose" in error for (error,) in errors)
    assert all("emq_sql/worker/" not in error for (error,) in errors)


def test_a_job_that_kills_its_worker_each_time_becomes_a_dead_letter(field: Field) -> None:
    field.reader.execute("select emq.configure('default', p_max_stalled => 2)")
    field.enqueue("dies", times=99)
    for _ in range(2):
        field.start(lease=0.3).wait()
    worker = field.start()
    field.until("select count(*) = 1 from emq.dead")
    assert field.rows("select reason, stalled from emq.dead") == [("stalled", 2)]
    assert worker.process.poll() is None


def test_a_paused_queue_is_left_alone_until_it_is_resumed(field: Field) -> None:
    upkeep.pause(field.reader, "emq", "default")
    field.enqueue("plain", 2)
    field.enqueue("plain", 3, queue="other")
    field.start(queues=["default", "other"])
    field.until_archived(3)
    assert field.one("select count(*) from emq.pending") == 2
    upkeep.resume(field.reader, "emq", "default")
    field.until_archived(5)


def parked(field: Field) -> None:
    """A worker that will not look by itself for an hour, and has looked for the last time."""
    field.start(poll=3600)
    field.until(
        "select count(*) = 1 from pg_stat_activity where datname = current_database()"
        " and application_name like 'emq bell %%' and query ilike 'listen%%'"
    )
    field.enqueue("plain")
    upkeep.ring(field.reader, "emq", "default")
    field.until_archived(1)


def test_the_bell_wakes_a_worker_that_would_not_look_for_an_hour(field: Field) -> None:
    parked(field)
    field.enqueue("plain")
    upkeep.ring(field.reader, "emq", "default")
    field.until_archived(2)


def test_a_worker_that_has_lost_its_bell_looks_once_it_hears_again(field: Field) -> None:
    parked(field)
    field.enqueue("plain")  # and nobody rings
    field.rows(
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where datname = current_database() and application_name like 'emq bell %%'"
    )
    field.until_archived(2)


def test_a_copied_database_runs_nothing(field: Field) -> None:
    upkeep.tag(field.reader, "emq", "production")
    field.enqueue("plain")
    for named in ("staging", None):
        worker = field.start(burst=True, environment=named)
        assert worker.wait() == 1
        assert "EMQ306" in worker.said()
        assert '"production"' in worker.said()
    assert field.rows("select attempts from emq.pending") == [(0,)]
    assert field.start(burst=True, environment="production").wait() == 0
    assert field.one("select count(*) from emq.archive") == 1


def test_a_database_without_the_schema_is_refused_with_what_to_do(field: Field) -> None:
    field.reader.execute("create schema keep; alter table emq.meta set schema keep")
    worker = field.start()
    assert worker.wait() == 1
    assert "EMQ301" in worker.said()
    assert "emq schema upgrade" in worker.said()
    field.reader.execute("alter table keep.meta set schema emq")
