"""What breaks in job queues in the field, how this one behaves, and the tests that hold it.

`python -m tests.cases.table > docs/explain/field-cases.md` writes the page. The numbers are those
of a longer list; those that are missing are about parts that do not exist yet.
"""

# ruff: noqa: E501  a node id is not broken

from __future__ import annotations

from dataclasses import dataclass

CASES_ = "tests/cases/"
CRON = "tests/cron/test_pg_cron.py::"
FAULTS = "tests/faults/"
PROTOCOL = "tests/protocol/"
SERVICE = "tests/service/"
WORKER = "tests/worker/"


@dataclass(frozen=True, slots=True)
class Case:
    """`trouble` is what befell others, `behaviour` what is promised here.

    `tests` are node ids without parameters; `left` says what of it is not built yet.
    """

    number: int
    title: str
    trouble: str
    behaviour: str
    tests: tuple[str, ...]
    left: str = ""


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
    Case(
        20,
        "A dead worker keeps the limit",
        "After a kill the slot of a limit stayed taken for hours, and a frequent producer piled up"
        " jobs behind it.",
        "A limit counts the rows of the ledger, so a slot dies with its lease. A producer that adds a"
        " job unless one waits leaves one, however many ask at once; and the one that waits begins"
        " after they have committed. (The job that had begun comes back beside it.)",
        (
            CASES_ + "test_limits.py"
            "::test_a_killed_worker_keeps_no_turn_and_a_hundred_producers_leave_one_waiting",
            PROTOCOL + "test_unless_waiting.py::test_producers_at_the_same_time_add_one",
            PROTOCOL + "test_unless_waiting.py"
            "::test_the_one_that_waits_begins_only_after_the_asking_transaction",
        ),
    ),
    Case(
        21,
        "All retries spent in seconds, all at once",
        "Three retries within eight seconds outlived no outage, and thousands came in the same one.",
        "Curves are exponential, linear, constant or your own, with a minimum and a cap, drawn at"
        " random below the curve unless told otherwise; due times are of the server's clock.",
        (
            CASES_ + "test_settling.py::test_jobs_that_fail_together_come_back_spread_out_and_none"
            "_before_its_minimum",
        ),
    ),
    Case(
        22,
        "A bulk requeue that brings back what can never succeed",
        "All dead jobs were put back, those included that fail whenever they run.",
        "A handler says that another try cannot help, and the job is dead with that reason. A replay"
        " of many leaves such letters and says how many, unless they are asked for.",
        (
            CASES_ + "test_dead_letters.py"
            "::test_a_replay_of_all_leaves_those_that_failed_for_good_and_reports_them",
            PROTOCOL + "test_replay_many.py"
            "::test_permanent_failures_stay_and_are_told_unless_they_are_asked_for",
        ),
    ),
    Case(
        23,
        "Enqueueing many forgets about duplicates",
        "The bulk path had rules of its own, or people went around it.",
        "The same rules as for one, and an answer for each, in the order given.",
        (
            CASES_ + "test_enqueueing.py"
            "::test_many_at_once_keep_the_same_rules_as_one_by_one_and_say_so_in_order",
        ),
    ),
    Case(
        24,
        "A small lookup table that burns its sequence",
        "An upsert for each enqueue drew a number each time from a sequence of 32 bits.",
        "Enqueueing draws one number, for the place in the line, of 64 bits; a duplicate draws none.",
        (
            CASES_ + "test_enqueueing.py"
            "::test_ten_thousand_jobs_of_one_task_use_up_no_sequence_but_that_of_the_line",
        ),
    ),
    Case(
        27,
        "A copy of production runs production's jobs",
        "A database was copied to staging, whose workers sent real messages.",
        "A worker refuses a database with another tag than its application's, and one without a tag"
        " that is not where its workers first ran. It says how to adopt it: run, hold or discard"
        " what is there. A physical copy is told by its tag alone.",
        (
            SERVICE + "test_copies.py"
            "::test_a_copy_without_a_tag_runs_nothing_before_it_is_adopted_to_run",
            SERVICE + "test_copies.py::test_a_copy_with_a_tag_is_held_until_somebody_resumes_it",
            SERVICE + "test_copies.py"
            "::test_what_a_copy_brought_is_discarded_and_its_ids_stay_known",
            SERVICE + "test_copies.py"
            "::test_production_that_was_restored_elsewhere_goes_on_by_its_tag",
            PROTOCOL + "test_adopt.py::test_a_database_in_which_workers_are_at_work_is_no_copy",
        ),
    ),
    Case(
        28,
        "Enqueueing in a dead transaction commits elsewhere",
        "The server had ended the session, the pool connected anew, and the rest of the"
        " transaction ran outside it.",
        "With a session of the caller's nothing is reconnected, tried again, committed or rolled"
        " back: it raises, and neither row is there.",
        (
            CASES_ + "test_enqueueing.py::test_enqueueing_in_a_transaction_whose_session_has_ended"
            "_fails_and_leaves_neither_row",
            CASES_ + "test_enqueueing.py::test_what_the_server_aborted_is_tried_again_in_our_own"
            "_transactions_and_never_in_a_callers",
            "tests/app/test_lost_connections.py::test_a_backend_that_ends_in_the_callers"
            "_transaction_is_an_error_and_no_reconnect",
        ),
    ),
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
)

HEAD = """# What breaks in the field

Troubles that people who run job queues have reported, in our words; how this queue behaves; and the tests that
hold it, which make the trouble with real processes and a real server. Numbers are those of a longer list; those
that are missing are about parts that do not exist yet. This page is written from `tests/cases/table.py`.
"""


def page() -> str:
    """The page, as Markdown."""
    return "\n".join([HEAD, *map(_section, CASES)])


def _section(case: Case) -> str:
    lines = [f"## {case.number}. {case.title}", "", case.trouble, "", f"**Here:** {case.behaviour}"]
    if case.left:
        lines += ["", f"**Not yet:** {case.left}"]
    lines += ["", *(f"- `{test}`" for test in case.tests), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    print(page(), end="")
