"""Field cases of schedules, workers, connections, databases and people."""

# ruff: noqa: E501  a node id is not broken

from __future__ import annotations

from tests.cases.case import CASES_, CRON, EFFECTS, FAULTS, PROTOCOL, SERVICE, WORKER, Case

CASES = (
    Case(
        33,
        "Runs of a scheduler that pile up",
        "Runs that took longer than their period were counted and made one after the other.",
        "A pass is bounded, makes way for one that runs, and does no harm when it is made a hundred times:"
        " each lost lease is counted once, and the work is that of the leases there are.",
        (
            CASES_ + "test_reaping.py"
            "::test_a_hundred_reaps_one_after_the_other_and_at_once_count_each_lease_once",
            "tests/attacks/test_reapers.py"
            "::test_each_expired_lease_is_taken_back_once_by_one_of_four_reapers",
            PROTOCOL + "test_maintain_loop.py::test_two_at_once_do_each_others_work",
        ),
    ),
    Case(
        34,
        "A scheduler's own history that grows for ever",
        "A reaper each few seconds filled the scheduler's table of runs.",
        "`emq cron install` also schedules the pruning of that table, of the runs of its own jobs and of"
        " nobody else's; `emq doctor` counts them; `emq cron remove` takes them away with the jobs.",
        (
            CRON + "test_only_its_own_runs_are_pruned_and_the_newest_stay",
            CRON + "test_removing_takes_its_own_jobs_and_runs_and_nothing_elses",
        ),
    ),
    Case(
        35,
        "Looking at the schedule changes it",
        "A list of what is planned wrote the next run anew: a run that was overdue moved to tomorrow.",
        "What reads only reads: every function, view and command that looks runs in a transaction that may"
        " not write.",
        (
            PROTOCOL + "test_looking.py"
            "::test_reading_fifty_times_changes_nothing_and_what_is_overdue_stays_so",
            PROTOCOL + "test_looking.py::test_a_command_that_looks_needs_no_more_than_to_read",
            CRON + "test_looking_changes_nothing_and_what_was_due_ran_all_the_same",
        ),
    ),
    Case(
        36,
        "A wake-up lost while the listener reconnects",
        "Jobs enqueued between the last look and the new LISTEN waited for the next event.",
        "It listens first and looks then; polling is the floor, the bell only a hint.",
        (
            FAULTS + "test_bell.py::test_no_job_is_missed_while_the_bell_hangs_up_and_comes_back",
            FAULTS + "test_bell.py::test_what_nobody_rings_for_is_found_by_the_next_poll",
        ),
    ),
    Case(
        37,
        "A failed connect that is remembered for ever",
        "One refusal while the server restarted was kept, and answered every later try.",
        "A lost connection is made anew for each try, with pauses of ten seconds at most; so is one"
        " to a server that takes no writes any more.",
        (
            CASES_ + "test_connecting.py"
            "::test_a_worker_whose_connects_have_failed_many_times_works_on_once_one_succeeds",
            FAULTS + "test_outages.py::test_a_worker_whose_address_leads_to_a_standby_goes_on_when"
            "_it_is_right_again",
        ),
    ),
    Case(
        38,
        "A loop that dies while the worker goes on",
        "Listener and periodic work had raised and were only logged.",
        "Each control loop is mended, and when it cannot be, the worker ends with exit code 1 and"
        " gives its jobs back; the state of each is in the health document.",
        (
            SERVICE + "test_loops_kept.py"
            "::test_a_loop_that_fails_some_times_is_mended_and_the_worker_works_on",
            SERVICE + "test_loops_kept.py::test_a_loop_that_cannot_be_kept_alive_ends_the_worker"
            "_and_costs_its_jobs_nothing",
        ),
    ),
    Case(
        39,
        "Workers that use up the connections",
        "After an upgrade each worker opened more than before, and locked everyone out.",
        "The first line of a worker says how many it uses at most, whatever its concurrency.",
        (
            SERVICE + "test_connections.py"
            "::test_fifty_slots_and_twenty_reconnects_use_no_more_connections_than_were_said",
        ),
    ),
    Case(
        40,
        "A probe that is green while nothing works, or red because the database is down",
        "Probes asked whether the process was there, or asked the broker, and restarted the fleet.",
        "Live: the control loops move, whatever jobs and database do. Ready: jobs are claimed.",
        (
            SERVICE + "test_live_and_ready.py"
            "::test_a_control_loop_that_hangs_makes_a_worker_not_live",
            SERVICE + "test_live_and_ready.py"
            "::test_without_the_database_workers_stay_live_and_are_not_ready",
            SERVICE + "test_live_and_ready.py"
            "::test_jobs_that_run_for_long_on_all_slots_leave_a_worker_live_and_ready",
        ),
    ),
    Case(
        41,
        "A worker that takes more than it can run",
        "One consumer made a thousand jobs its own while the others idled.",
        "A claim takes as many jobs as there are free slots, and none ahead.",
        (CASES_ + "test_claiming.py::test_a_worker_never_holds_more_jobs_than_it_has_slots",),
    ),
    Case(
        42,
        "A handler that locks the worker",
        "Handlers shared the loop or the threads of the control work.",
        "Claims, extensions and signals have threads and connections of their own. A handler that"
        " hangs costs its slot; in a child process it is ended by its timeout.",
        (
            WORKER + "test_executor.py::test_a_hanging_handler_occupies_its_slot_and_no_other",
            WORKER + "test_event_loop.py"
            "::test_a_coroutine_that_blocks_the_loop_is_settled_all_the_same_and_named_in_the_log",
            WORKER + "processes/test_leases.py"
            "::test_a_handler_that_holds_the_gil_costs_its_slot_and_no_other",
            WORKER + "processes/test_stopping.py"
            "::test_a_timeout_ends_the_process_counts_as_a_failure_and_attempts_do_not_overlap",
        ),
    ),
    Case(
        43,
        "A start that costs as much as the history is long",
        "With millions of finished jobs each start of a worker took minutes.",
        "A start reads as much after a hundred thousand finished jobs as after none.",
        (
            SERVICE + "test_start_cost.py"
            "::test_a_start_reads_as_much_after_a_hundred_thousand_jobs_as_after_none",
        ),
    ),
    Case(
        44,
        "Drain or cancel at the end",
        "One library cancelled what it had promised to drain, another never ended.",
        "The first signal drains for the grace and then releases, the second releases at once;"
        " released jobs pay nothing, and the exit code is 0.",
        (
            SERVICE + "test_shutdown.py::test_each_signal_drains_lets_the_short_job_finish_and"
            "_releases_the_long_one",
            SERVICE + "test_shutdown.py::test_a_second_signal_releases_at_once",
            FAULTS + "test_deploys.py"
            "::test_deploys_while_it_runs_cost_a_long_job_nothing_and_it_completes",
        ),
    ),
    Case(
        45,
        "A hot table that vacuum does not come to",
        "The workers of autovacuum were busy elsewhere, dead rows piled up, and claims slowed down until"
        " somebody vacuumed by hand.",
        "A claim, an extension and a reap touch as many pages after twenty thousand jobs without a vacuum as"
        " before: each begins at a floor and not at the first row. The hot tables ask for a vacuum after a"
        " count of dead rows, not a share. An extension moves a deadline that is indexed, so it is never a"
        " heap-only update; a hundred of them on each lease cost the next one nothing. `emq doctor` tells the"
        " dead rows, the last vacuum, and who holds the oldest snapshot.",
        (
            "tests/cli/test_doctor_vacuum.py::test_who_holds_vacuum_up_is_named_with_what_ends_it",
            "tests/plans/test_churn.py"
            "::test_twenty_thousand_jobs_without_a_vacuum_make_no_verb_touch_more",
            "tests/plans/test_churn.py::test_a_hundred_extensions_of_each_lease_make_neither_the_next"
            "_nor_reap_touch_more",
            "tests/plans/test_churn.py"
            "::test_hot_tables_are_vacuumed_after_a_count_of_dead_rows_and_not_a_share",
            "tests/plans/test_pinned.py::test_no_verb_walks_the_dead_rows_that_a_snapshot_pins",
        ),
    ),
    Case(
        46,
        "No retention, or one for everything",
        "Finished jobs were kept until each query walked millions; or the dead letters went within a day,"
        " before anybody had looked.",
        "Completed, cancelled and dead have a retention each, by queue; dead letters stay until somebody acts"
        " unless their queue says otherwise. The archive is a partition a day, and a day goes by a drop.",
        (
            PROTOCOL + "test_tidy.py::test_completed_cancelled_and_dead_have_a_retention_each",
            PROTOCOL + "test_tidy.py"
            "::test_a_dead_letter_older_than_every_retention_is_kept_with_its_attempts",
            PROTOCOL
            + "test_tidy_exact.py::test_what_is_younger_than_its_retention_stays_and_what_is_older"
            "_by_a_day_goes",
            PROTOCOL + "test_long_life.py::test_each_job_is_kept_for_as_long_as_its_queue_says",
        ),
    ),
    Case(
        47,
        "Upkeep of indexes that locks or litters",
        "Indexes were built anew under a lock of the whole table; builds that failed left invalid copies; an"
        " index on arguments grew to gigabytes.",
        "No index is ever rebuilt: days of the archive come by ATTACH and go by a drop, each behind a"
        " lock_timeout of 0.3 s at most. Beside traffic no statement waits a second, also while somebody's"
        " transaction is in the way. All indexes are B-trees; the payload has none.",
        (
            CASES_
            + "test_upkeep.py::test_upkeep_beside_traffic_makes_no_statement_wait_a_second_and"
            "_leaves_no_index_unfinished",
            CASES_ + "test_upkeep.py"
            "::test_no_index_of_the_ledger_is_of_a_kind_that_is_dear_to_write",
            PROTOCOL + "test_partitions.py"
            "::test_days_are_made_beside_an_open_completion_and_an_open_look_up",
        ),
    ),
    Case(
        48,
        "Notifications that put all commits in a row",
        "A trigger notified for each row, and each such commit took one lock of the whole cluster.",
        "There is no trigger, and an enqueue notifies nobody. The library rings after the commit, from another"
        " thread, at most twenty times a second (after a quiet half second ten times at once), and only for"
        " queues that somebody waits for. What 64 producers lose by it is measured by `make bench` (`doorbell`).",
        (
            PROTOCOL + "test_ring.py::test_an_enqueue_rings_nobody",
            PROTOCOL + "test_ring.py::test_no_table_has_a_trigger_that_could_notify",
            PROTOCOL + "test_parked_bell.py::test_nobody_is_rung_for_when_nobody_waits",
            "tests/app/test_ringing.py::test_many_enqueues_ring_seldom_and_after_the_last_one",
            "tests/app/test_ringing.py::test_without_the_bell_nothing_rings",
        ),
    ),
    Case(
        49,
        "More workers, less throughput",
        "All walked the same head of the index and stepped over each other's rows, one row a claim.",
        "A worker claims for all of its free slots at once. Behind 63 open claims one more touches less than"
        " 20 pages for each job that it takes. The curve from 1 to 64 sessions is measured by `make bench`"
        " (`claimers`).",
        (
            "tests/plans/test_churn.py"
            "::test_a_claim_behind_sixty_three_open_ones_touches_few_pages_for_each_job",
            CASES_ + "test_settling.py"
            "::test_many_clients_on_the_same_queue_never_deadlock_and_make_no_shared_locks",
        ),
    ),
    Case(
        50,
        "Lost leases that nobody noticed",
        "Rows stayed in flight for weeks, and were found when queries had become slow.",
        "`emq doctor` counts the leases that expired more than two reap intervals ago. That is 0, or its"
        " exit code is 1 and it says who should have reaped, and why that failed.",
        (
            CASES_ + "test_reaping.py"
            "::test_leases_that_nobody_takes_back_are_counted_and_are_a_failure",
            CRON + "test_the_doctor_says_that_pg_cron_should_and_why_it_does_not",
        ),
    ),
    Case(
        51,
        "Upkeep that ignores its settings, or never comes",
        "Intervals that had been set had no effect, and the ticks of upkeep were jobs that filled the queue.",
        "The interval is one option of whoever does the upkeep, and any number of them make one pass an"
        " interval together. A pass makes no job, and leaves one row at most each five seconds, for a day."
        " `emq doctor` tells when the last one was, and who should have come.",
        (
            "tests/service/test_maintain.py::test_passes_are_as_far_apart_as_was_set",
            PROTOCOL + "test_maintain_due.py::test_a_pass_is_made_when_the_last_one_is_old_enough",
            CASES_ + "test_upkeep.py"
            "::test_two_hundred_passes_make_no_job_and_keep_no_record_of_each",
            CRON + "test_the_doctor_says_that_pg_cron_should_and_why_it_does_not",
        ),
    ),
    Case(
        52,
        "Old code upon the new schema",
        "Workers of the release before still polled while the schema changed: deadlocks and errors; nobody could"
        " tell which steps were in place.",
        "A step leaves what is there as it is for who calls it, waits for a lock for half a second only, and gives"
        " way. Workers and producers of two releases run side by side through the upgrade, without an error or a"
        " warning. `emq schema current` shows the version of the schema and the one that the code works with.",
        (
            "tests/upgrade/test_rolling_deploy.py"
            "::test_old_and_new_workers_side_by_side_while_the_schema_goes_up_lose_nothing_and_meet_no_error",
            "tests/upgrade/test_lock_budget.py"
            "::test_a_step_that_is_held_up_holds_nobody_up_and_goes_on_when_it_can",
            "tests/upgrade/test_lock_budget.py"
            "::test_of_a_step_and_a_transaction_that_wait_for_each_other_the_step_gives_way",
        ),
        "A worker of the release before that starts anew upon the newer schema refuses it (EMQ303): it cannot"
        " know yet which steps leave it be.",
    ),
    Case(
        53,
        "A key that has to be widened on a big table",
        "Ids and counters of 32 bits ran out; widening them rewrote the table under an exclusive lock.",
        "Ids are UUIDs, fences and places in line bigint, from the first step on. What is narrower has a"
        " bound that is written down, and the catalogue is compared with the list.",
        (
            PROTOCOL + "test_catalogue.py"
            "::test_nothing_narrow_is_an_id_a_total_or_anything_else_that_grows",
            PROTOCOL
            + "test_catalogue.py::test_every_id_of_a_job_is_a_uuid_and_every_fence_and_place_in"
            "_line_a_bigint",
        ),
    ),
    Case(
        54,
        "A worker that runs DDL",
        "Workers could not start under a role of few rights, because they always tried to migrate.",
        "Only `emq schema`, Alembic or Django lead the schema, and print it if asked. Workers and producers run under"
        " roles that cannot, and the server's log of a whole deploy has no such statement of theirs. A worker"
        " upon an older schema says what to run, with exit code 1.",
        (
            "tests/upgrade/test_rolling_deploy.py"
            "::test_old_and_new_workers_side_by_side_while_the_schema_goes_up_lose_nothing_and_meet_no_error",
            "tests/upgrade/test_rolling_deploy.py"
            "::test_the_roles_of_workers_and_applications_could_run_no_ddl",
            "tests/upgrade/test_rolling_deploy.py"
            "::test_a_worker_upon_an_older_schema_says_what_to_do_and_changes_nothing",
        ),
    ),
    Case(
        61,
        "Recovered jobs that look like any other",
        "What had been lost and brought back could not be told from the rest, nor be sent where there is"
        " more memory.",
        "The counts of lost leases and failures travel with the job and are known to its handler; after"
        " `quarantine_after` losses it goes on in the queue's `quarantine`.",
        (
            FAULTS + "test_dead_ends.py"
            "::test_a_job_lost_k_times_reappears_in_the_quarantine_queue_and_knows_of_it",
        ),
    ),
    Case(
        62,
        "Cancelling a job that runs",
        "There was no way to stop a job that had begun but to kill its worker; where there was one, handlers"
        " polled the database for it.",
        "A cancel ends the fence, so nothing more is committed for the job. The holder is rung for, and learns it"
        " at the latest from the answer to its next extension. A child process is killed after a grace; the SQL"
        " under way is cancelled if the operator or the task wants that.",
        (
            EFFECTS + "test_hard_cancel.py"
            "::test_after_a_cancel_nothing_of_its_handler_is_committed_and_it_is_told_by_the_bell",
            EFFECTS + "test_hard_cancel.py"
            "::test_a_child_that_ignores_it_is_killed_and_its_session_ends_on_the_server",
            EFFECTS + "test_hard_cancel.py"
            "::test_the_statement_of_a_cancelled_job_ends_and_no_other_one",
            WORKER + "test_stopping_runs.py"
            "::test_a_cancel_comes_with_the_next_extension_and_costs_one_other_statement",
        ),
    ),
)
