"""Mutants of unique keys."""

# ruff: noqa: E501  a node id is not broken

from __future__ import annotations

from tests.mutants.mutant import mutant, settings_off

KEYS = "tests/protocol/test_unique_key.py::"
PLANS = "tests/plans/test_plans.py::test_no_function_walks_a_whole_hot_table"
ENDED = KEYS + "test_a_job_that_has_ended_holds_its_key_no_more"
LOCKED = KEYS + "test_a_key_that_is_locked_holds_up_nobody_but_who_asks_for_it"
MODEL = "tests/protocol/test_unique_key_model.py::test_a_key_has_one_holder_for_as_long_as_it_says"
FORGOTTEN = KEYS + "test_keys_that_count_no_more_are_forgotten_and_those_that_do_stay"

MUTANTS = (
    # holds_key
    mutant("a_dead_letter_holds", ENDED + "[unfinished-die]", "holds_key", "and not exists (select from emq.dead d where d.id = j.id)"),
    mutant("what_has_ended_holds", ENDED + "[unfinished-complete]", "holds_key", "where r.id = j.id and r.finished_at", "where false and r.finished_at"),
    mutant(
        "what_runs_waits", KEYS + "test_while_waiting_means_until_a_worker_has_it_and_again_when_it_is_given_back",
        "holds_key", "p_scope = 'unfinished' or (select", "true or (select",
    ),
    mutant(
        "what_runs_does_not_hold", KEYS + "test_a_key_is_held_while_its_job_waits_runs_and_is_between_two_runs",
        "holds_key", "p_scope = 'unfinished' or (select", "(select",
    ),
    mutant(
        "until_for_ever", KEYS + "test_for_a_time_after_it_is_held_whatever_became_of_the_job", "holds_key",
        "return p_until > clock_timestamp();", "return true;",
    ),
    mutant("by_model_what_runs_waits", MODEL, "holds_key", "p_scope = 'unfinished' or (select", "true or (select"),
    mutant("by_model_what_has_ended_holds", MODEL, "holds_key", "where r.id = j.id and r.finished_at", "where false and r.finished_at"),
    # take_key
    mutant(
        "a_holder_does_not_count", KEYS + "test_one_job_is_added_for_a_key_and_whoever_asks_again_is_told_of_it",
        "take_key", "if emq.holds_key(v.id, v.scope, v.until) then", "if false then",
    ),
    mutant(
        "taken_over_from_whomever",
        KEYS + "test_of_two_who_take_a_key_over_at_once_one_gets_it", "take_key",
        " and u.id = v.id and u.until is not distinct from v.until",
    ),
    # enqueue_unique
    mutant(
        "unique_in_any_order", KEYS + "test_the_keys_of_a_call_are_taken_in_their_order",
        "enqueue_unique", "order by x.key, x.i", "order by x.i",
    ),
    mutant(
        "twice_in_a_call", KEYS + "test_a_key_twice_in_a_call_is_a_duplicate_the_second_time",
        "enqueue_unique", "elsif u.key = v_key then", "elsif false then",
    ),
    mutant(
        "a_repeat_is_a_stranger", KEYS + "test_a_call_whose_reply_was_lost_adds_no_second_job_and_is_told_of_its_own",
        "enqueue_unique", "if u.id = any (v_known) then", "if false then",
    ),
    mutant(
        "the_answers_are_in_the_order_of_keys", KEYS + "test_each_answer_is_that_of_its_own_job",
        "enqueue_unique", "v_new := array(select i from unnest(v_new) i order by i);", "",
    ),
    mutant(
        "the_first_jobs_are_added", KEYS + "test_each_answer_is_that_of_its_own_job",
        "enqueue_unique", "where x.i = any (v_new);", "where x.i <= cardinality(v_new);",
    ),
    mutant("places_are_subscripts", KEYS + "test_arrays_may_begin_anywhere_and_none_of_them_at_all", "enqueue_unique", "array(select x from unnest(p_ids) x)", "p_ids"),
    mutant("waited_for_ever", KEYS + "test_an_open_one_is_not_waited_for_for_ever", "enqueue_unique", "set lock_timeout = '5s'\n"),
    mutant(
        "unique_by_an_old_snapshot",
        KEYS + "test_a_snapshot_that_may_be_older_than_the_holders_end_is_refused[repeatable read]",
        "enqueue_unique", "if current_setting('transaction_isolation') <> 'read committed' then", "if false then",
    ),
    # tidy_keys, erase
    mutant("tidy_waits_for_a_key", LOCKED, "tidy_keys", " skip locked"),
    mutant("erase_waits_for_a_key", KEYS + "test_an_erased_job_does_not_wait_for_its_key", "erase", " skip locked"),
    mutant("keys_that_count_are_forgotten", FORGOTTEN, "tidy_keys", " and not emq.holds_key(u.id, u.scope, u.until)"),
    mutant("looked_at_again_and_again", FORGOTTEN, "tidy_keys", "update emq.unique_key u set look_at = clock_timestamp() + interval '1 h' where u.key = any (v_due);"),
    mutant(
        "keys_in_any_number", KEYS + "test_they_are_looked_at_in_bounded_steps_the_longest_due_first",
        "tidy_keys", " limit p_limit", "",
    ),
    mutant("an_erased_job_leaves_its_key", KEYS + "test_what_is_erased_leaves_no_key", "erase", "where u.id = any (p_ids) for update", "where false for update"),
    # plans
    settings_off("holds_key_without_settings", PLANS + "[truncated-emptying]", "holds_key"),
)  # fmt: skip
