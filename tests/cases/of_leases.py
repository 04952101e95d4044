"""Field cases of leases, heartbeats and the reaper."""

# ruff: noqa: E501  a node id is not broken

from __future__ import annotations

from tests.cases.case import CASES_, CRON, FAULTS, PROTOCOL, SERVICE, WORKER, Case

CASES = (
    Case(
        1,
        "A heartbeat no faster than the timeout it protects",
        "The beat and the timeout were two settings that did not know of each other, and a buffer"
        " stood between them: a healthy long job was started a second time.",
        "Leases are extended at a third of their length, reckoned from the last extension that"
        " committed. An interval over half the lease is refused.",
        (
            FAULTS + "test_leases_kept.py::test_a_deadline_is_moved_at_each_third_of_the_lease",
            FAULTS + "test_leases_kept.py::test_a_long_run_keeps_its_lease_and_runs_once",
            FAULTS
            + "test_running.py::test_jobs_with_leases_of_their_own_are_each_extended_in_time",
            SERVICE + "test_refused_settings.py"
            "::test_an_impossible_setting_is_refused_and_nothing_is_claimed",
        ),
    ),
    Case(
        2,
        "A test of leases that proves nothing",
        "The handler of the test yielded where real ones block, or its abandoned rows were written"
        " by hand; production ran jobs twice with a green suite.",
        "Lease tests run with handlers that await, block in C, compute, and hold the interpreter;"
        " whatever is abandoned was held by a process that was really killed.",
        (
            FAULTS + "test_leases_kept.py::test_a_long_run_keeps_its_lease_and_runs_once",
            FAULTS + "test_leases_kept.py"
            "::test_a_handler_that_holds_the_interpreter_loses_its_lease_and_commits_nothing",
            WORKER + "processes/test_leases.py"
            "::test_awaiting_blocking_and_gil_holding_handlers_keep_their_leases",
            FAULTS + "test_kill_at_each_step.py"
            "::test_each_job_is_settled_once_whichever_step_the_worker_dies_at",
        ),
    ),
    Case(
        3,
        "Jobs of the future that are taken early and held",
        "A job due in hours was fetched now, outlived its lock in a worker's memory, and was handed"
        " out again and again.",
        "A job that is not due by the server's clock is in another table than the one that is"
        " claimed from; its lease begins with the claim.",
        (
            CASES_ + "test_claiming.py"
            "::test_no_job_is_claimed_before_its_time_by_the_servers_clock",
            FAULTS + "test_seed_lessons.py::test_workers_whose_clocks_are_a_day_off_change_nothing",
        ),
    ),
    Case(
        5,
        "An expired holder that still finishes the job",
        "Its lock had lapsed and somebody else held the job, yet its word was taken.",
        "Every verb of a holder carries the fence of its claim. A stale one changes nothing, is"
        " answered `lost`, and is on record. An expired lease that nobody has taken back yet may"
        " still complete.",
        (
            CASES_ + "test_leases.py"
            "::test_an_expired_holder_can_do_nothing_for_its_job_and_each_call_is_on_record",
            CASES_ + "test_leases.py"
            "::test_an_expired_holder_whose_job_nobody_has_taken_back_may_still_complete_it",
            FAULTS + "test_seed_lessons.py"
            "::test_a_frozen_worker_that_comes_back_late_can_commit_nothing_and_is_on_record",
        ),
    ),
    Case(
        6,
        "A lost lease as a fatal error",
        "After an overrun the worker threw while it recorded the outcome, and ended or fetched"
        " nothing more.",
        "A lost lease is a normal event: said once, with job and attempt; the handler is told; the"
        " other jobs and the next ones go on.",
        (FAULTS + "test_leases_kept.py::test_one_lost_lease_of_four_ends_nothing_else",),
    ),
    Case(
        7,
        "One lock for all, hours long",
        "After a crash a job of a minute waited for hours; people deleted rows by hand.",
        "Leases are short and extended, and set for a job, a queue or a worker. A killed worker's"
        " jobs come back as soon as their own leases have ended, and all that a given worker holds"
        " at once when an operator says so: uncounted, and the late holder can commit nothing.",
        (
            CASES_ + "test_leases.py"
            "::test_a_killed_workers_jobs_come_back_as_soon_as_their_own_leases_say",
            FAULTS + "test_seed_lessons.py"
            "::test_a_dead_workers_jobs_come_back_at_the_head_and_are_finished_by_another",
            PROTOCOL + "test_release_worker.py"
            "::test_only_what_this_worker_holds_comes_back_and_to_the_head_uncounted",
            CASES_ + "test_limits.py"
            "::test_what_a_hanging_worker_holds_is_taken_back_at_once_and_it_can_commit_nothing",
        ),
    ),
    Case(
        8,
        "A crash that skips the policy of retries",
        "Jobs that were in flight when their process died were called failed: no exception had been"
        " raised, so nothing that would have tried them again saw them.",
        "A lost lease is an end like an exception or a timeout, on the same path and within the same"
        " `max_attempts`, and within `max_stalled` of its own. It is tried again at once, at the head of"
        " its level; before the last time, in a process of its own.",
        (
            FAULTS + "test_poison.py"
            "::test_a_job_that_is_lost_twice_and_completes_in_its_third_run_has_its_history",
            FAULTS + "test_poison.py"
            "::test_a_poison_job_that_kills_its_process_is_started_exactly_its_budget_and_costs_no"
            "_innocent",
            FAULTS + "test_poison.py::test_poison_jobs_of_all_kinds_at_once_cost_no_innocent",
        ),
    ),
    Case(
        9,
        "A reaper's page full of rows that it must leave alone",
        "Each look took the first hundred in flight, all of them alive, and never came to the lost ones"
        " behind them.",
        "The reaper walks expired leases only, by their deadlines; what runs is not looked at, however"
        " long ago it was claimed.",
        (
            CASES_ + "test_reaping.py"
            "::test_expired_leases_behind_thousands_that_run_are_taken_back_in_one_small_batch",
            PROTOCOL + "test_reap.py"
            "::test_reap_takes_no_more_than_its_limit_and_is_called_again_for_the_rest",
        ),
    ),
    Case(
        10,
        "The sweeper is itself a job in the queue",
        "The task that was to bring back lost jobs was lost itself, and nothing came back any more.",
        "Recovery is an SQL function that workers call from a thread of their own, beside `emq maintain`,"
        " pg_cron and psql: it needs no slot, no lease, no handler and no record of a worker.",
        (
            CASES_ + "test_reaping.py"
            "::test_a_lost_lease_comes_back_although_each_slot_is_taken_for_an_hour",
            SERVICE + "test_maintain.py"
            "::test_it_brings_back_what_a_killed_process_held_and_ends_when_told_to",
            CRON + "test_what_a_killed_worker_held_comes_back_although_nobody_is_there",
        ),
    ),
    Case(
        11,
        "Heartbeats without an answer",
        "The beats were neither accepted nor refused; the process lived on, did nothing visible, and"
        " was never replaced.",
        "After one lease without an extension that committed, the worker's own clock tells the"
        " handler that the lease is lost, before anybody else can have the job. Nothing is claimed"
        " until extensions come through again, and the worker is not ready.",
        (
            CASES_ + "test_leases.py::test_a_worker_without_an_answer_tells_its_handler_before"
            "_anybody_else_can_have_the_job",
            FAULTS + "test_database_faults.py"
            "::test_a_worker_that_hears_nothing_for_a_lease_tells_its_handler_and_claims_no_more",
            SERVICE + "test_live_and_ready.py"
            "::test_without_the_database_workers_stay_live_and_are_not_ready",
        ),
    ),
    Case(
        12,
        "Ends by the reaper that skip what hangs on an end",
        "A job that died because its worker had never called its failure callback.",
        "Every claim that ends without completion ends in one SQL function, whoever ends it. For a dead"
        " letter it enqueues the queue's `on_dead` task in the same transaction.",
        (
            FAULTS + "test_dead_ends.py"
            "::test_whichever_way_a_job_dies_the_queues_on_dead_runs_once_and_is_told_the_same",
        ),
    ),
    Case(
        13,
        "Jobs lost between two structures",
        "Taken off one list and not yet on the other: invisible, or swept away.",
        "A claim is one statement; at each commit a job is in exactly one place.",
        (
            CASES_ + "test_claiming.py"
            "::test_workers_killed_at_random_leave_each_job_in_exactly_one_place",
            FAULTS + "test_kill_at_each_step.py"
            "::test_each_job_is_settled_once_whichever_step_the_worker_dies_at",
        ),
    ),
    Case(
        14,
        "Finished, but the acknowledgement was lost",
        "The worker logged success, the write had failed, and a cleanup made the job a failed one.",
        "A completion may be repeated under its fence and counts once. The worker repeats it until"
        " it is answered or the lease is lost, and says which.",
        (
            FAULTS + "test_database_faults.py"
            "::test_a_completion_whose_answer_is_lost_is_repeated_and_counts_once",
            FAULTS + "test_seed_lessons.py::test_a_repeated_completion_is_a_no_op",
            FAULTS + "test_seed_lessons.py"
            "::test_a_frozen_worker_whose_handler_only_returns_late_is_refused",
        ),
    ),
    Case(
        15,
        "Lease and run limit as one setting",
        "The rescue time capped the length of jobs, or a retry before the timeout gave duplicates.",
        "The lease, the timeout of a run and the attempts are three settings; what cannot work is"
        " refused at the start with a sentence that says what to change.",
        (
            SERVICE + "test_refused_settings.py"
            "::test_an_impossible_setting_is_refused_and_nothing_is_claimed",
            SERVICE + "test_refused_settings.py"
            "::test_a_task_that_cannot_run_is_refused_where_it_is_defined",
            SERVICE + "test_refused_settings.py::test_a_long_run_under_a_short_lease_is_legal",
        ),
    ),
    Case(
        16,
        "One deadlock ends the executor",
        "Under load the server aborted a transaction, and the component took it for fatal.",
        "What the server aborts is tried again, with jitter, in our own short transactions only.",
        (
            CASES_ + "test_settling.py::test_every_twentieth_statement_aborted_costs_no_job"
            "_anything_and_settles_none_twice",
            CASES_ + "test_enqueueing.py::test_what_the_server_aborted_is_tried_again_in_our_own"
            "_transactions_and_never_in_a_callers",
            FAULTS + "test_server_settings.py"
            "::test_timeouts_that_strike_the_workers_own_statements_cost_no_job_anything",
        ),
    ),
    Case(
        17,
        "Foreign keys into hot rows",
        "The shared lock of a foreign key on a row that is updated all the time made deadlocks, and"
        " filled the store of shared locks.",
        "No table of the ledger refers to another.",
        (
            CASES_ + "test_settling.py"
            "::test_many_clients_on_the_same_queue_never_deadlock_and_make_no_shared_locks",
            CASES_ + "test_settling.py::test_no_table_of_the_ledger_refers_to_another",
        ),
    ),
)
