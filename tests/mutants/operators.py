"""Mutants of operators' verbs that work in batches, of adoption, and of an enqueue unless one waits."""

# ruff: noqa: E501  a node id is not broken

from __future__ import annotations

from tests.mutants.mutant import mutant, settings_off

DRAIN = "tests/protocol/test_drain.py::"
OBLITERATE = "tests/protocol/test_obliterate.py::"
RELEASE = "tests/protocol/test_release_worker.py::"
ADOPT = "tests/protocol/test_adopt.py::"
UNLESS = "tests/protocol/test_unless_waiting.py::"
PLANS = "tests/plans/test_plans.py::test_no_function_walks_a_whole_hot_table"

MUTANTS = (
    # drain
    mutant(
        "drain_waits", DRAIN + "test_a_job_that_is_being_claimed_is_left_to_the_claim", "withdraw",
        "order by p.ord limit p_limit\n           for update skip locked", "order by p.ord limit p_limit\n           for update",
    ),
    mutant(
        "drain_any_queue", DRAIN + "test_scheduled_jobs_go_too_when_that_is_asked", "withdraw",
        "s.queue = p_queue and ", "",
    ),
    mutant(
        "drain_begins_again_in_the_level",
        DRAIN + "test_batches_lead_on_to_the_end_through_all_levels_and_instants", "withdraw",
        "generate_series(v_rank, 9)", "generate_series(v_rank + 1, 9)",
    ),
    mutant(
        "drain_skips_what_is_due_at_one_instant",
        DRAIN + "test_batches_lead_on_to_the_end_through_all_levels_and_instants", "withdraw",
        "(s.run_at, s.id) > (v_run_at, v_id)", "s.run_at > v_run_at",
    ),
    mutant(
        "drain_keeps_scheduled_ones_unasked",
        DRAIN + "test_what_waits_is_cancelled_and_what_runs_goes_on", "withdraw",
        "if p_scheduled and n < p_limit then", "if n < p_limit then",
    ),
    mutant(
        "drain_forgets_counts", DRAIN + "test_jobs_that_came_back_go_with_their_counts_kept", "drain",
        "w.attempts, w.stalled, w.failures, 'cancelled'", "0, 0, 0, 'cancelled'",
    ),
    # obliterate
    mutant(
        "obliterate_without_the_name", OBLITERATE + "test_the_name_must_be_said_once_more", "obliterate",
        "if p_confirm is distinct from p_queue then", "if false then",
    ),
    mutant(
        "obliterate_unpaused", OBLITERATE + "test_the_first_batch_pauses_the_queue_and_takes_nothing",
        "obliterate", "    perform emq.pause(p_queue, p_label);\n",
    ),
    mutant(
        "obliterate_beside_running_jobs", OBLITERATE + "test_while_a_job_runs_nothing_is_taken_nor_paused",
        "obliterate", "    if remaining > 0 then\n      status := 'active';", "    if false then\n      status := 'active';",
    ),
    mutant(
        "obliterate_forgets_its_settings_too_early",
        OBLITERATE + "test_a_job_under_a_guard_is_left_and_the_queue_stays_paused", "obliterate",
        "if remaining = 0 then", "if true then",
    ),
    mutant(
        "obliterate_others", OBLITERATE + "test_nothing_of_the_queue_is_left_and_nothing_of_another_is_touched",
        "obliterate", "filter (where c.queue = p_queue), count(*)", ", count(*)",
    ),
    mutant(
        "obliterate_ends_runs_unasked",
        OBLITERATE + "test_a_job_that_began_to_run_after_the_pause_was_asked_for_stops_it_where_it_is",
        "obliterate", "if not p_dry_run and not p_force then", "if false then",
    ),
    mutant(
        "obliterate_beside_retention", OBLITERATE + "test_while_retention_is_at_work_nothing_is_taken",
        "obliterate", "if not p_dry_run and not pg_try_advisory_xact_lock(7308, 'emq.tidying'::regclass::oid::int) then", "if false then",
    ),
    mutant(
        "obliterate_leaves_attempts",
        OBLITERATE + "test_nothing_of_the_queue_is_left_and_nothing_of_another_is_touched", "erase",
        "  execute 'delete from emq.attempt x where x.id = any ($1) and x.ended_at >= $2'\n    using p_ids, v_from;\n",
    ),
    mutant(
        "obliterate_leaves_late_extensions",
        OBLITERATE + "test_nothing_of_the_queue_is_left_and_nothing_of_another_is_touched", "erase",
        "  delete from emq.late x where x.id = any (p_ids);\n",
    ),
    mutant(
        "obliterate_leaves_keys_of_the_inbox",
        OBLITERATE + "test_a_key_of_the_inbox_is_free_again_when_its_job_is_gone", "erase",
        "  delete from emq.inbox x where x.id = any (p_ids);\n",
    ),
    mutant(
        "old_archive_row_is_an_end", OBLITERATE + "test_a_job_that_lives_again_beside_its_old_archive_row_is_no_ended_one",
        "unseat", " and x.finished_at > k.enqueued_at - interval ''1 h''", "",
    ),
    mutant(
        "obliterate_waits_for_a_guard", OBLITERATE + "test_a_job_under_a_guard_is_left_and_the_queue_stays_paused",
        "unseat", "where a.id = any (v_ids) order by a.id for update skip locked",
        "where a.id = any (v_ids) order by a.id for update",
    ),
    mutant(
        "obliterate_waits_for_a_replay", OBLITERATE + "test_a_dead_letter_that_is_being_replayed_is_left",
        "unseat", "where y.id = any (v_ids) order by y.id for update skip locked",
        "where y.id = any (v_ids) order by y.id for update",
    ),
    # release_worker
    mutant(
        "release_from_anybody", RELEASE + "test_only_what_this_worker_holds_comes_back_and_to_the_head_uncounted",
        "release_worker", "and a.worker = p_worker\n     order by", "\n     order by",
    ),
    mutant(
        "release_counts", RELEASE + "test_only_what_this_worker_holds_comes_back_and_to_the_head_uncounted",
        "release_worker", "array_fill('release'::text", "array_fill('stalled'::text",
    ),
    mutant(
        "release_waits", RELEASE + "test_a_job_under_a_guard_is_busy_and_comes_back_at_the_next_call",
        "release_worker", "for update skip locked", "for update",
    ),
    # copies
    mutant(
        "at_home_everywhere", ADOPT + "test_an_untagged_database_elsewhere_is_not_at_home_whatever_is_claimed",
        "at_home", "    return 'no';", "    return 'yes';",
    ),
    mutant(
        "no_tag_is_a_tag", ADOPT + "test_an_untagged_database_elsewhere_is_not_at_home_whatever_is_claimed",
        "at_home", "\n        or m.home is not null and p_environment is null then", " then",
    ),
    mutant(
        "any_tag_is_at_home", ADOPT + "test_a_tagged_one_is_at_home_wherever_its_application_names_the_tag",
        "at_home", "m.home is not null and m.environment is distinct from p_environment\n        or ", "",
    ),
    mutant(
        "home_is_waited_for", ADOPT + "test_a_meta_row_that_is_locked_keeps_no_worker_from_its_start",
        "at_home", " for update skip locked", " for update",
    ),
    mutant(
        "adopt_under_workers", ADOPT + "test_a_database_in_which_workers_are_at_work_is_no_copy", "adopt",
        "    status := 'workers';\n    return;\n",
    ),
    mutant(
        "adopted_before_all_is_discarded", ADOPT + "test_what_an_open_transaction_has_is_busy_and_nothing_is_adopted",
        "adopt", "if exists (select from emq.active) or exists (select from emq.dead) then", "if false then",
    ),
    mutant(
        "hold_forgets_where_deaths_are_told", ADOPT + "test_what_is_held_is_claimed_by_nobody_until_it_is_resumed",
        "adopt", "\n              union select y.on_dead_queue from emq.queue y", "",
    ),
    mutant(
        "adopted_under_the_old_id", ADOPT + "test_what_is_adopted_is_a_ledger_of_its_own[run]", "adopt",
        ", ledger_id = gen_random_uuid()", "",
    ),
    # enqueue_unless_waiting
    mutant(
        "unless_waiting_without_the_lock", UNLESS + "test_who_asks_waits_for_an_open_one_and_sees_what_became_of_it",
        "enqueue_unless_waiting", "perform pg_advisory_xact_lock(", "perform greatest(",
    ),
    mutant(
        "unless_waiting_for_ever", UNLESS + "test_an_open_one_is_not_waited_for_for_ever",
        "enqueue_unless_waiting", "set lock_timeout = '5s'\n", "",
    ),
    mutant(
        "the_one_that_waits_may_begin", UNLESS + "test_the_one_that_waits_begins_only_after_the_asking_transaction",
        "enqueue_unless_waiting", "\n   for key share of p skip locked", "",
    ),
    mutant(
        "the_scheduled_one_may_begin", UNLESS + "test_the_one_that_waits_begins_only_after_the_asking_transaction",
        "enqueue_unless_waiting", "\n     for key share of s skip locked", "",
    ),
    mutant(
        "unless_waiting_by_an_old_snapshot",
        UNLESS + "test_a_snapshot_that_may_be_older_than_the_lock_is_refused[repeatable read]",
        "enqueue_unless_waiting", "if current_setting('transaction_isolation') <> 'read committed' then", "if false then",
    ),
    mutant(
        "unless_any_task_waits", UNLESS + "test_one_that_waits_is_answered_instead_of_another",
        "enqueue_unless_waiting", "\n     and (select j.task from emq.job j where j.id = p.id) = p_task", "",
    ),
    # plans
    settings_off("withdraw_without_settings", PLANS + "[truncated-emptying]", "withdraw"),
    settings_off("release_without_settings", PLANS + "[truncated-emptying]", "release_worker"),
    settings_off("unless_waiting_without_settings", PLANS + "[truncated-emptying]", "enqueue_unless_waiting"),
)  # fmt: skip
