"""Field cases of completion, limits, and what is enqueued."""

# ruff: noqa: E501  a node id is not broken

from __future__ import annotations

from tests.cases.case import CASES_, PROTOCOL, SERVICE, Case

CASES = (
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
            PROTOCOL
            + "test_unique_key.py::test_a_thousand_in_a_call_are_told_of_each_key_in_order",
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
        26,
        "Arguments in another format, while jobs wait",
        "After an upgrade the rows that waited held the old encoding, and failed.",
        "A payload is a JSON object of keywords, and no step rewrites one. What the release before has enqueued is"
        " drained by this one, through the upgrade of the schema.",
        (
            "tests/upgrade/test_rolling_deploy.py"
            "::test_jobs_that_the_release_before_enqueued_are_drained_by_this_one",
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
)
