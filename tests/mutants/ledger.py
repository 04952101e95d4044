"""Mutants of the ledger: the verbs of producers and workers, upkeep, plans and rights."""

# ruff: noqa: E501  a node id is not broken

from __future__ import annotations

from tests.mutants.mutant import Mutant, mutant, settings_off
from tests.mutants.rendering import Change

PROTOCOL = "tests/protocol/"
BATCH = PROTOCOL + "test_enqueue_batch.py::"
PLANS = "tests/plans/"
ROLES = "tests/security/test_roles.py"

FENCE_OF_LOCK = " and a.fence = k.fence for update skip locked"
FENCE_OF_DELETE = "where a.id = any (array[x.id]) and a.fence = x.fence"

MUTANTS = (
    # enqueue
    mutant(
        "enqueue_twice", PROTOCOL + "test_enqueue.py::test_an_id_whose_job_has_ended_is_a_duplicate",
        "enqueue", "  if not found then\n    status := 'duplicate';\n    return;\n  end if;\n",
    ),
    mutant(
        "enqueue_without_on_conflict",
        PROTOCOL + "test_enqueue.py::test_a_new_id_is_enqueued_and_a_known_one_is_a_duplicate",
        "enqueue", "\n  on conflict on constraint job_pk do nothing",
    ),
    mutant(
        "any_id", PROTOCOL + "test_ids.py::test_an_id_that_is_not_version_seven_is_refused_with_the_remedy",
        "enqueue", "v_at is null or ",
    ),
    mutant(
        "any_instant",
        PROTOCOL + "test_ids.py::test_an_id_dated_more_than_a_day_ahead_is_refused_with_the_remedy",
        "enqueue", " or v_at > clock_timestamp() + interval '1 day'",
    ),
    mutant(
        "any_queue_name",
        PROTOCOL + "test_enqueue.py::test_a_queue_name_outside_the_grammar_is_refused_with_the_grammar",
        "enqueue", "p_queue is null or p_queue !~ '^[a-z0-9][a-z0-9_.:-]{0,62}$'\n     or ",
    ),
    mutant(
        "many_without_on_conflict",
        PROTOCOL + "test_enqueue_many.py::test_each_job_has_its_answer_in_the_order_given",
        "enqueue_many", "\n    on conflict on constraint job_pk do nothing",
    ),
    mutant(
        "many_both_times",
        PROTOCOL + "test_enqueue_many.py::test_an_id_twice_in_a_call_is_a_duplicate_the_second_time",
        "enqueue_many", "\n             and row_number() over (partition by w.id order by w.i) = 1",
    ),
    mutant(
        "many_in_any_order",
        PROTOCOL + "test_enqueue_many.py"
        "::test_the_line_keeps_the_callers_order_and_not_that_of_the_ids",
        "enqueue_many", "     order by u.i;\n", "     order by u.id;\n",
    ),
    mutant(
        "many_ids_unsorted",
        PROTOCOL + "test_enqueue_many.py"
        "::test_a_call_that_waits_for_an_id_holds_no_higher_one_meanwhile",
        "enqueue_many", "     order by u.id\n    on conflict", "    on conflict",
    ),
    mutant(
        "many_any_id", PROTOCOL + "test_ids.py::test_one_bad_id_in_a_batch_is_found_wherever_it_stands",
        "enqueue_many", "not v_all_v7 or ",
    ),
    # enqueue_batch
    mutant(
        "batch_answers_as_many", BATCH + "test_an_id_of_another_job_is_an_error_and_nothing_is_added",
        "enqueue_batch", "as u (id, payload);", "as u (id, payload) on conflict do nothing;",
    ),
    mutant(
        "batch_out_of_step", BATCH + "test_ids_and_payloads_that_are_not_in_step_are_refused",
        "enqueue_batch", "jsonb_array_length(p_payloads) <> cardinality(p_ids)", "false",
    ),
    mutant(
        "batch_of_no_array", BATCH + "test_ids_and_payloads_that_are_not_in_step_are_refused",
        "enqueue_batch", "jsonb_typeof(p_payloads) is distinct from 'array' or ",
    ),
    mutant(
        "batch_of_null_ids", BATCH + "test_ids_and_payloads_that_are_not_in_step_are_refused",
        "enqueue_batch", "p_ids is null\n     or ",
    ),
    mutant(
        "batch_any_id", BATCH + "test_an_id_that_is_not_version_seven_is_refused_wherever_it_stands",
        "enqueue_batch", "get_byte(uuid_send(u), 6) >> 4 = 7 and ",
    ),
    mutant(
        "batch_no_id", BATCH + "test_an_id_that_is_not_version_seven_is_refused_wherever_it_stands",
        "enqueue_batch", "u is not null and ",
    ),
    mutant(
        "batch_any_instant", BATCH + "test_an_id_dated_more_than_a_day_ahead_is_refused_wherever_it_stands",
        "enqueue_batch", " and u < v_tomorrow",
    ),
    mutant(
        "batch_any_queue", BATCH + "test_a_queue_name_outside_the_grammar_is_refused",
        "enqueue_batch", "p_queue is null or p_queue !~ '^[a-z0-9][a-z0-9_.:-]{0,62}$'\n     or ",
    ),
    mutant(
        "number_before_xid",
        PROTOCOL + "test_floor_order.py::test_a_number_in_the_line_is_drawn_after_the_xid",
        "pending", "case when pg_current_xact_id() is not null then nextval('emq.ord_seq') end",
        "nextval('emq.ord_seq')",
    ),
    # claim
    mutant(
        "claim_waits", PROTOCOL + "test_claim.py::test_two_claims_at_once_take_different_jobs_and_neither_waits",
        "claim", "         for update skip locked) l", "         for update) l",
    ),
    mutant(
        "claim_of_no_number",
        PROTOCOL + "test_claim.py::test_a_claim_of_no_number_takes_nothing_and_not_the_whole_queue",
        "claim", " or p_n is null or p_n < 1",
    ),
    mutant(
        "pause_not_asked_again",
        PROTOCOL + "test_pause.py::test_a_pause_that_commits_between_look_and_claim_holds",
        "claim",
        "     where not exists (select 1 from emq.queue q where q.name = p_queue and q.paused)\n",
    ),
    mutant(
        "attempts_stand_still", PROTOCOL + "test_claim.py::test_attempts_only_grow",
        "claim", "d.attempts + 1", "greatest(d.attempts, 1)",
    ),
    mutant(
        "fence_without_nonce", PROTOCOL + "test_claim.py::test_a_fence_is_the_attempt_and_the_nonce",
        "claim", " | v_nonce",
    ),
    mutant(
        "fence_without_attempts",
        PROTOCOL + "test_operators.py"
        "::test_who_held_a_job_before_it_died_is_refused_though_the_nonce_comes_again",
        "claim", "((d.attempts + 1)::bigint << 40) | v_nonce", "v_nonce",
    ),
    mutant(
        "lease_by_the_transactions_clock",
        PROTOCOL + "test_claim.py::test_the_lease_runs_by_the_servers_clock_and_not_by_the_transactions",
        "claim", "clock_timestamp() + coalesce(d.lease_ms", "now() + coalesce(d.lease_ms",
    ),
    mutant(
        "own_lease_ignored", PROTOCOL + "test_leases.py::test_the_jobs_own_lease_beats_both",
        "claim", "coalesce(d.lease_ms, v_lease_ms)", "v_lease_ms",
    ),
    mutant(
        "filenode_not_compared",
        PROTOCOL + "test_claim.py::test_the_floors_start_afresh_when_the_line_was_truncated",
        "claim", "if v_s[1] is distinct from v_gen then", "if v_s is null then",
    ),
    mutant(
        "claim_without_floor", PLANS + "test_pinned.py::test_no_verb_walks_the_dead_rows_that_a_snapshot_pins",
        "claim", "         where r.queue = p_queue and r.rank = (p.i - 1)::smallint and r.ord >= p.f\n"
        "         order by r.ord limit v_n",
        "         where r.queue = p_queue and r.rank = (p.i - 1)::smallint\n"
        "         order by r.ord limit v_n",
    ),
    mutant(
        "complete_before_claim",
        PROTOCOL + "test_complete_and_claim.py::test_the_floors_rise_though_a_completion_takes_an_xid",
        "complete_and_claim", "begin\n  return query",
        "begin\n  perform pg_current_xact_id();\n  return query",
    ),
    # complete
    Mutant(
        "complete_any_fence",
        PROTOCOL + "test_complete.py::test_a_held_job_is_done_and_a_stale_fence_is_lost",
        (
            Change("complete", FENCE_OF_LOCK, " for update skip locked"),
            Change("complete", FENCE_OF_DELETE, "where a.id = any (array[x.id])"),
        ),
    ),
    mutant(
        "complete_waits",
        PROTOCOL + "test_complete.py"
        "::test_a_completion_in_an_open_transaction_is_busy_for_everybody_else",
        "complete", "for update skip locked", "for update",
    ),
    Mutant(
        "complete_by_ctid",
        PROTOCOL + "test_races.py"
        "::test_the_holder_is_not_refused_because_its_own_lease_was_extended_meanwhile"
        "[complete-complete-done]",
        (
            Change("complete", "cross join lateral (select 1 from", "cross join lateral (select a.ctid as c from"),
            Change("complete", "select k.* from k\n", "select k.*, l.c from k\n"),
            Change("complete", FENCE_OF_DELETE, "where a.ctid = x.c and a.fence = x.fence"),
        ),
    ),
    mutant(
        "archive_not_asked",
        PROTOCOL + "test_complete.py"
        "::test_a_repeat_by_the_fence_that_completed_is_done_and_changes_nothing",
        "rest", "if p_verb = 'complete' and 'lost' = any (r) then", "if false then",
    ),
    mutant(
        "ids_without_fences",
        PROTOCOL + "test_complete.py"
        "::test_a_stale_fence_beside_the_good_one_is_lost_and_the_good_one_is_not",
        "rest", "(k.id, k.fence) in (select * from unnest(p_done, p_donef))",
        "k.id in (select i from unnest(p_done, p_donef) as x (i, f))",
    ),
    mutant(
        "another_completion_is_mine",
        PROTOCOL + "test_complete.py::test_another_fence_than_the_one_that_completed_is_lost",
        "rest", "(k.id, k.fence) in (select * from unnest(v_arch, v_archf))",
        "k.id in (select i from unnest(v_arch, v_archf) as x (i, f))",
    ),
    mutant(
        "busy_is_lost", PROTOCOL + "test_guard.py"
        "::test_every_other_verb_is_busy_under_a_guard_and_a_stale_one_is_lost",
        "rest", "when a.fence = k.fence then 'busy'", "when false then 'busy'",
    ),
    mutant(
        "refusals_not_recorded",
        PROTOCOL + "test_complete.py::test_each_refusal_is_recorded_with_the_fence_that_holds_the_job",
        "rest", "perform emq.refuse(p_ids, p_fences, r, p_verb);", "null;",
    ),
    mutant(
        "a_null_is_recorded",
        PROTOCOL + "test_complete.py::test_a_null_id_or_fence_is_lost_and_does_not_raise",
        "refuse", " and k.id is not null",
    ),
    Mutant(
        "cancelled_rows_carry_their_fence",
        PROTOCOL + "test_operators.py::test_cancelling_a_running_job_ends_its_fence",
        (
            Change("archive", "\n      and (fence is not null) = (status = 'completed')"),
            Change("cancel", "(id, finished_at, claimed_at,", "(id, fence, finished_at, claimed_at,"),
            Change("cancel", "select m.id, clock_timestamp(),", "select m.id, m.fence, clock_timestamp(),"),
            Change("cancel", "select a.id, a.claimed_at,", "select a.id, a.fence, a.claimed_at,"),
            Change("cancel", "select p.id, null,", "select p.id, null::bigint, null,"),
            Change("cancel", "select s.id, null,", "select s.id, null::bigint, null,"),
            Change("rest", "\n     where x.status = 'completed';", ";"),
        ),
    ),
    mutant(
        "archive_by_a_cached_plan",
        PROTOCOL + "test_partitions.py::test_a_look_up_locks_few_partitions_and_an_enqueue_none",
        "archived", "x.finished_at >= $2 and x.finished_at < $3'",
        "x.finished_at >= $2 - interval ''100 d'' and x.finished_at < $3'",
    ),
    # extend
    mutant(
        "extend_backward", PROTOCOL + "test_extend.py::test_a_shorter_lease_never_moves_the_deadline_back",
        "extend", "greatest(\n             a.lease_deadline, ", "greatest(\n             null, ",
    ),
    Mutant(
        "extend_any_fence", PROTOCOL + "test_extend.py::test_only_the_holder_extends",
        (
            Change("extend", " and a.fence = k.fence for no key", " for no key"),
            Change("extend", FENCE_OF_DELETE, "where a.id = any (array[x.id])"),
        ),
    ),
    mutant(
        "extend_locks_too_much", PROTOCOL + "test_guard.py::test_an_extension_passes_a_guard",
        "extend", "for no key update skip locked", "for update skip locked",
    ),
    mutant(
        "extend_by_the_transactions_clock",
        PROTOCOL + "test_floor_order.py::test_an_extension_in_an_old_transaction_is_by_the_clock",
        "extend", "clock_timestamp() +", "now() +",
    ),
    # put_back
    Mutant(
        "put_back_any_fence",
        PROTOCOL + "test_put_back.py::test_one_call_gives_many_back_each_to_its_own_place",
        (
            Change("hand_back", FENCE_OF_LOCK, " for update skip locked"),
            Change("hand_back", FENCE_OF_DELETE, "where a.id = any (array[x.id])"),
        ),
    ),
    mutant(
        "put_back_waits", PROTOCOL + "test_put_back.py::test_a_job_under_a_guard_is_busy_and_stays",
        "hand_back", "for update skip locked", "for update",
    ),
    mutant(
        "snooze_costs", PROTOCOL + "test_put_back.py::test_snooze_waits_and_costs_nothing",
        "end_runs", "(u.ended in ('exception', 'timeout', 'permanent'))::int", "1",
    ),
    mutant(
        "retry_is_free", PROTOCOL + "test_budgets.py::test_a_job_is_dead_when_its_failures_reach_max_attempts",
        "end_runs", "u.failures + (u.ended in ('exception', 'timeout', 'permanent'))::int", "u.failures",
    ),
    mutant(
        "failures_alone", PROTOCOL + "test_budgets.py"
        "::test_lost_leases_and_failures_together_reach_max_attempts[failure]",
        "end_runs", "when 'exception' then r.s + r.f >=", "when 'exception' then r.f >=",
    ),
    mutant(
        "snooze_kills", PROTOCOL + "test_budgets.py::test_snoozes_and_releases_use_no_budget",
        "end_runs", "             else false end as spent", "             else r.s + r.f + 1 >= coalesce(j.max_attempts, 25) end as spent",
    ),
    mutant(
        "release_to_the_tail",
        PROTOCOL + "test_put_back.py::test_release_goes_to_the_head_of_its_level_and_costs_nothing",
        "end_runs", "case when r.ended in ('stalled', 'release') then r.rank & ~1", "case when r.ended = 'stalled' then r.rank & ~1",
    ),
    mutant(
        "retry_to_the_head",
        PROTOCOL + "test_put_back.py::test_retry_without_a_delay_goes_behind_the_fresh_jobs_of_its_level",
        "end_runs", "else r.rank | 1 end as line", "else r.rank & ~1 end as line",
    ),
    mutant(
        "no_attempt_row",
        PROTOCOL + "test_put_back.py::test_each_attempt_that_ended_without_completion_has_its_row",
        "end_runs", "           m.queue, m.worker, m.error\n      from m order by m.n\n",
        "           m.queue, m.worker, m.error\n      from m where false\n",
    ),
    mutant(
        "lease_of_the_call_stays",
        PROTOCOL + "test_leases.py::test_the_lease_of_a_call_is_for_that_claim_only[retry]",
        "end_runs", "m.own_lease_ms", "m.lease_ms",
    ),
    # sweep
    mutant(
        "sweep_waits", PROTOCOL + "test_guard.py::test_a_reap_steps_over_a_guard",
        "sweep", "for update skip locked", "for update",
    ),
    mutant(
        "stalled_not_counted",
        PROTOCOL + "test_budgets.py::test_a_job_is_dead_when_its_lost_leases_reach_max_stalled",
        "end_runs", "u.stalled + (u.ended = 'stalled')::int", "u.stalled",
    ),
    mutant(
        "one_stall_more",
        PROTOCOL + "test_echomq_weaknesses.py"
        "::test_max_stalled_is_the_number_of_lost_leases_that_kills",
        "end_runs", "r.s >= coalesce(p_max_stalled", "r.s > coalesce(p_max_stalled",
    ),
    mutant(
        "stalls_are_no_attempts",
        PROTOCOL + "test_budgets.py::test_lost_leases_and_failures_together_reach_max_attempts[stall]",
        "end_runs",
        "\n                                 or r.s + r.f >= coalesce(j.max_attempts, q.max_attempts, 25)", "",
    ),
    mutant(
        "recovered_to_the_tail",
        PROTOCOL + "test_reap.py"
        "::test_a_recovered_job_is_claimed_before_fresh_ones_of_its_level_and_after_higher_levels",
        "end_runs", "('stalled', 'release') then r.rank & ~1", "('stalled', 'release') then r.rank",
    ),
    mutant(
        "one_bad_row_stops_all",
        PROTOCOL + "test_reap.py::test_one_bad_row_stops_nobody_and_is_taken_when_it_is_well_again",
        "sweep", "      exception when others then\n        skipped := skipped + 1;\n",
    ),
    mutant(
        "reap_without_limit",
        PROTOCOL + "test_reap.py::test_reap_takes_no_more_than_its_limit_and_is_called_again_for_the_rest",
        "sweep", "order by a.lease_deadline limit p_limit", "order by a.lease_deadline",
    ),
    mutant(
        "live_leases_too", PROTOCOL + "test_reap.py::test_a_lease_that_runs_is_left",
        "sweep", "a.lease_deadline < v_now and", "",
    ),
    mutant(
        "row_by_row_by_another_path",
        PROTOCOL + "test_reap.py::test_a_batch_done_row_by_row_counts_and_kills_as_the_statement_does",
        "reap_one", "array['stalled']", "array['release']",
    ),
    mutant(
        "sweep_with_a_clock_in_front",
        PROTOCOL + "test_maintain.py::test_a_clock_that_was_set_back_makes_the_floors_start_afresh",
        "sweep", "case when s.t > v_now then '-infinity' else s.reap_from end", "s.reap_from",
    ),
    mutant(
        "sweep_without_floor", PLANS + "test_pinned.py::test_neither_reap_nor_maintain_walks_them",
        "sweep", "and a.lease_deadline >= v_from", "",
    ),
    # promote
    mutant(
        "promote_waits", PROTOCOL + "test_promote.py::test_two_at_once_move_each_job_once",
        "promote", "for update skip locked", "for update",
    ),
    mutant(
        "promote_by_id", PROTOCOL + "test_promote.py::test_due_jobs_join_in_the_order_of_their_instants",
        "promote", "from d order by d.run_at, d.id", "from d order by d.id",
    ),
    # maintain
    mutant(
        "two_maintains_at_once",
        PROTOCOL + "test_maintain.py"
        "::test_a_second_pass_at_the_same_time_does_nothing_and_does_not_wait",
        "maintain", "ran := pg_try_advisory_xact_lock(7305, 'emq.settled'::regclass::oid::int);",
        "ran := true;",
    ),
    mutant(
        "holders_not_waited_for",
        PROTOCOL + "test_maintain.py"
        "::test_a_mark_does_not_count_while_somebody_who_wrote_before_it_is_open",
        "maintain", "(l.virtualtransaction = any (s.holders) or l.virtualtransaction like '-1/%'))",
        "false)",
    ),
    mutant(
        "clock_set_back_not_noticed",
        PROTOCOL + "test_maintain.py::test_a_clock_that_was_set_back_makes_the_floors_start_afresh",
        "maintain", "if s.t > v_now or s.cand_t > v_now then", "if false then",
    ),
    mutant(
        "floors_never_sought_anew",
        PROTOCOL + "test_maintain.py::test_what_lies_below_a_floor_is_found_again_within_ten_minutes",
        "maintain",
        "\n     or div(extract(epoch from s.cand_t), 600)"
        " <> div(extract(epoch from clock_timestamp()), 600)",
    ),
    mutant(
        "one_day_stops_maintain",
        PROTOCOL + "test_partitions.py"
        "::test_rows_in_the_default_stop_their_own_day_only_and_not_maintain",
        "archive_days", "        when check_violation then null;\n",
    ),
    # operators
    mutant(
        "replay_from_zero",
        PROTOCOL + "test_operators.py"
        "::test_replay_keeps_the_id_and_the_attempts_and_gives_a_fresh_budget",
        "replay_one", "select d.id, d.queue, d.attempts,", "select d.id, d.queue, 0,",
    ),
    mutant(
        "cancel_waits", PROTOCOL + "test_operators.py::test_a_job_under_a_guard_is_busy",
        "cancel", "where a.id = p_id for update skip locked", "where a.id = p_id for update",
    ),
    mutant(
        "cancel_fresh_jobs_only",
        PROTOCOL + "test_operators.py::test_a_recovered_job_is_found_in_its_level",
        "cancel", "array[j.priority * 2, j.priority * 2 + 1]", "array[j.priority * 2 + 1]",
    ),
    # retire
    mutant(
        "retire_does_not_count_again",
        PROTOCOL + "test_retire.py::test_a_row_that_comes_late_is_visited_before_the_drop",
        "retire", "if v_n <> s.done then", "if false then",
    ),
    mutant(
        "retire_any_envelope",
        PROTOCOL + "test_retire.py::test_a_row_that_comes_late_is_visited_before_the_drop",
        "retire", " and y.enqueued_at < c.finished_at + interval ''1 h''",
    ),
    mutant(
        "retire_beside_a_writer",
        PROTOCOL + "test_retire.py::test_an_open_writer_of_that_day_makes_the_first_step_busy",
        "retire", "    execute format('lock table emq.%I in share mode', v_t);  -- whoever wrote it has ended\n",
    ),
    mutant(
        "retire_an_open_day",
        PROTOCOL + "test_retire.py"
        "::test_a_day_that_is_not_over_is_open_and_one_without_partition_is_none",
        "retire", "if clock_timestamp() < (p_day + 1)::timestamptz + interval '1 hour' then", "if false then",
    ),
    mutant(
        "retire_in_an_old_snapshot",
        PROTOCOL + "test_isolation.py::test_retire_refuses_an_old_snapshot_and_says_why",
        "retire", "if current_setting('transaction_isolation') <> 'read committed' then", "if false then",
    ),
    # claimed, outcome, misplaced
    mutant(
        "claimed_whole_nonce",
        PROTOCOL + "test_claimed.py::test_forty_bits_of_the_nonce_count_as_in_claim",
        "claimed", "v_nonce bigint := p_nonce & 1099511627775", "v_nonce bigint := p_nonce",
    ),
    mutant(
        "outcome_of_anybody", PROTOCOL + "test_outcome.py::test_every_answer_has_its_case",
        "outcome", "if found and v = p_fence then", "if found then",
    ),
    mutant(
        "misplaced_is_blind",
        PROTOCOL + "test_views.py"
        "::test_misplaced_shows_a_job_in_two_places_in_none_and_without_envelope",
        "misplaced", "having count(p.id) <> 1", "having count(p.id) = 0",
    ),
    # keep, stall and the bell
    mutant(
        "keep_calls_cancelled_lost",
        PROTOCOL + "test_keep.py::test_a_job_that_an_operator_cancelled_is_told_from_one_that_is_lost",
        "keep", "if 'lost' = any (answers) then", "if false then",
    ),
    mutant(
        "keep_calls_lost_cancelled",
        PROTOCOL + "test_keep.py::test_a_completed_or_discarded_job_is_lost_and_not_cancelled",
        "keep", "\n     where x.status = 'cancelled'",
    ),
    mutant(
        "keep_calls_resumed_paused",
        PROTOCOL + "test_keep.py::test_paused_queues_come_with_the_answers_and_resumed_ones_do_not",
        "keep", " and q.paused",
    ),
    mutant(
        "stall_costs_nothing", PROTOCOL + "test_stall.py::test_max_stalled_limits_it_like_leases_that_ended",
        "stall", "array_fill('stalled'::text", "array_fill('release'::text",
    ),
    mutant(
        "claim_any_takes_n_of_each", PROTOCOL + "test_claim_any.py::test_n_limits_all_queues_together",
        "claim_any", "v_left := v_left - v_got;", "null;",
    ),
    mutant(
        "maintain_due_always", PROTOCOL + "test_maintain_due.py::test_a_pass_is_made_when_the_last_one_is_old_enough",
        "maintain_due", "v_at is null or v_at > v_now or v_at <= v_now - p_every", "true",
    ),
    mutant(
        "maintain_due_never_after_the_clock_went_back",
        PROTOCOL + "test_maintain_due.py::test_an_instant_ahead_of_the_clock_holds_nobody_up",
        "maintain_due", " or v_at > v_now", "",
    ),
    mutant(
        "maintain_due_never_without_a_row",
        PROTOCOL + "test_maintain_due.py::test_an_empty_register_holds_nobody_up",
        "maintain_due", "v_at is null or ", "",
    ),
    mutant(
        "ring_for_nobody", PROTOCOL + "test_parked_bell.py::test_nobody_is_rung_for_when_nobody_waits",
        "ring_parked", "if pg_try_advisory_lock(7306, b.lock) then", "if false then",
    ),
    mutant(
        "ring_holds_its_lock", PROTOCOL + "test_parked_bell.py::test_whoever_rings_holds_nobody_up",
        "ring_parked", "perform pg_advisory_unlock(7306, b.lock);", "null;",
    ),
    mutant(
        "park_adds_up", PROTOCOL + "test_parked_bell.py::test_parking_anew_takes_the_place_of_the_former",
        "park", "if v_lock <> all (v_want) then", "if false then",
    ),
    mutant(
        "bells_without_bound",
        PROTOCOL + "test_parked_bell.py::test_any_number_of_queues_takes_a_bounded_number_of_locks",
        "bell_locks", " & 63", "",
    ),
    # plans
    settings_off(
        "hand_back_without_settings_for_stall",
        PLANS + "test_plans.py::test_no_function_walks_a_whole_hot_table[truncated-stall]", "hand_back",
    ),
    settings_off(
        "complete_without_settings",
        PLANS + "test_plans.py::test_no_function_walks_a_whole_hot_table[truncated-complete]", "complete",
    ),
    settings_off(
        "extend_without_settings",
        PLANS + "test_plans.py::test_no_function_walks_a_whole_hot_table[truncated-extend]", "extend",
    ),
    settings_off(
        "put_back_without_settings",
        PLANS + "test_plans.py::test_no_function_walks_a_whole_hot_table[truncated-put_back]", "hand_back",
    ),
    settings_off(
        "sweep_without_settings",
        PLANS + "test_plans.py::test_no_function_walks_a_whole_hot_table[truncated-reap]", "sweep",
    ),
    mutant(
        "complete_by_a_join", PLANS + "test_plans.py::test_no_function_walks_a_whole_hot_table[pinned-complete]",
        "complete", FENCE_OF_DELETE, "where a.id = x.id and a.fence = x.fence",
    ),
    mutant(
        "sweep_by_a_volatile_clock",
        PLANS + "test_pinned.py::test_reap_does_not_walk_the_leases_that_run",
        "sweep", "a.lease_deadline < v_now and", "a.lease_deadline < clock_timestamp() and",
    ),
    # security
    mutant(
        "functions_open_to_the_public",
        ROLES + "::test_a_role_may_call_what_the_table_says_and_nothing_else[nobody]",
        "close", "revoke all on all functions in schema emq from public;\n",
    ),
    mutant(
        "retire_open_to_the_public",
        ROLES + "::test_a_role_may_call_what_the_table_says_and_nothing_else[nobody]",
        "retire", "revoke all on function emq.retire from public;",
    ),
    mutant(
        "path_of_the_caller", ROLES + "::test_a_schema_in_front_of_the_path_changes_nothing",
        "complete", "set search_path = pg_catalog, pg_temp\n",
    ),
    mutant(
        "caller_runs_guard", ROLES + "::test_the_four_roles_do_their_work_and_own_nothing",
        "guard", "volatile security definer", "volatile",
    ),
)  # fmt: skip
