"""Mutants of what chooses, replays, discards and groups dead letters."""

# ruff: noqa: E501  a node id is not broken

from __future__ import annotations

from tests.mutants.mutant import Mutant, mutant

FILTER = "tests/protocol/test_dead_filter.py::"
GROUPS = "tests/protocol/test_dead_groups.py::"
MANY = "tests/protocol/test_replay_many.py::"
ONE = "tests/protocol/test_replay_one.py::"
DISCARD = "tests/protocol/test_discard_many.py::"
PRINTS = "tests/protocol/test_fingerprint_groups.py::"
SLIP = FILTER + "test_a_slip_is_refused_with_what_may_be_said_and_nothing_is_done"
CHOOSE = FILTER + "test_queue_task_worker_error_and_fingerprint_choose[new]"
CHOOSE_OLD = FILTER + "test_queue_task_worker_error_and_fingerprint_choose[old]"
PERMANENT = MANY + "test_permanent_failures_stay_and_are_told_unless_they_are_asked_for"
BUSY = MANY + "test_a_letter_that_another_is_moving_is_busy_and_nobody_waits"
CHUNKS = MANY + "test_chunks_look_at_each_letter_once_and_at_the_end_say_so"
NEVER = MANY + "test_a_queue_that_never_replays_keeps_its_letters"
BUDGETS = MANY + "test_a_job_keeps_id_and_attempts_and_starts_with_fresh_budgets"
TAIL = MANY + "test_jobs_join_the_tail_of_their_levels_in_the_order_of_their_deaths"
SPLIT = PRINTS + "test_particulars_do_not_split_a_group"
LINES = PRINTS + "test_the_headline_of_chains_groups_and_quoted_tracebacks"

MUTANTS: tuple[Mutant, ...] = (
    # what a filter chooses
    mutant("unknown_names_mean_all", SLIP, "refuse_settings", "if found then", "if false then"),
    mutant("slips_mean_all", SLIP, "dead_where", "if not v_ok then", "if false then"),
    mutant(
        "any_reason_of_death",
        SLIP,
        "dead_where",
        "(k <> 'reason' or x #>> '{}' = any (c_reasons))",
        "true",
    ),
    mutant(
        "naive_instants",
        SLIP,
        "dead_where",
        "\n                and v_text ~* ':\\d\\d(\\.\\d+)?(z|[+-]\\d\\d(:?\\d\\d)?)$'",
    ),
    mutant("negative_ages", SLIP, "dead_where", "between interval '0' and", "<"),
    mutant(
        "died_at_the_instant",
        FILTER + "test_the_instant_of_the_death_chooses",
        "dead_where",
        "when 'died_after' then '>='",
        "when 'died_after' then '>'",
    ),
    mutant(
        "older_is_younger",
        FILTER + "test_the_age_by_the_servers_clock_chooses",
        "dead_where",
        "case k when 'older_than' then '<' else '>=' end",
        "case k when 'older_than' then '>=' else '<' end",
    ),
    mutant(
        "error_is_a_pattern",
        FILTER + "test_whatever_a_filter_says_is_looked_for_and_never_run",
        "dead_where",
        "strpos(d.error, $1 ->> ''error'') > 0",
        "d.error like ''%%'' || ($1 ->> ''error'') || ''%%''",
    ),
    mutant(
        "queues_are_not_asked",
        CHOOSE,
        "dead_where",
        "when 'fingerprint' then 'f.fingerprint' else 'd.' || k end",
        "when 'fingerprint' then 'f.fingerprint' else 'd.reason' end",
    ),
    mutant(
        "old_letters_have_no_task",
        CHOOSE_OLD,
        "dead_matching",
        "select coalesce(d.task, j.task) as task",
        "select d.task as task",
    ),
    mutant(
        "old_letters_have_no_fingerprint",
        CHOOSE_OLD,
        "dead_matching",
        "select coalesce(d.fingerprint, emq.fingerprint(t.task, d.reason, d.error)) as fingerprint",
        "select d.fingerprint",
    ),
    mutant(
        "after_nothing_is_from_the_start",
        MANY + "test_what_no_letter_comes_after_is_refused",
        "dead_matching",
        "if v_at is null or v_id is null then",
        "if false then",
    ),
    # what may be replayed
    mutant(
        "permanent_goes_back",
        PERMANENT,
        "replay_verdict",
        "when p_reason in ('permanent', 'expired') and p_named is not true",
        "when false",
    ),
    mutant(
        "not_named_is_unknown", PERMANENT, "replay_verdict", "p_named is not true", "not p_named"
    ),
    mutant(
        "late_ones_go_back",
        MANY + "test_what_came_too_late_stays_like_a_permanent_failure",
        "replay_verdict",
        "in ('permanent', 'expired')",
        "in ('permanent')",
    ),
    mutant(
        "naming_the_reason_is_not_enough",
        PERMANENT,
        "dead_matching",
        "array['reason', 'ids']",
        "array['ids']",
    ),
    mutant(
        "never_is_sometimes",
        NEVER,
        "replay_verdict",
        "when p_within = interval '0' then 'never'\n              ",
    ),
    mutant("never_counts_as_an_age", NEVER, "replay_verdict", "then 'never'", "then 'replay'"),
    mutant(
        "any_age",
        MANY + "test_a_queue_that_replays_within_an_age_keeps_what_is_older",
        "replay_verdict",
        "then 'too old'",
        "then 'replay'",
    ),
    mutant(
        "ages_no_calendar_has",
        MANY + "test_a_queue_that_replays_within_an_age_keeps_what_is_older",
        "replay_verdict",
        "p_within <= interval '5000 years' and ",
    ),
    # replaying many
    mutant(
        "replays_take_what_stays",
        PERMANENT,
        "replay_many",
        "\n     where m.verdict = 'replay'\n  ), d",
        "\n  ), d",
    ),
    mutant("replay_waits", BUSY, "replay_many", "for update skip locked", "for update"),
    mutant(
        "busy_ones_are_forgotten",
        BUSY,
        "replay_many",
        "select count(*) into busy from emq.dead d where d.id = any (v_left);",
        "busy := 0;",
    ),
    mutant(
        "many_from_zero",
        BUDGETS,
        "replay_many",
        "select d.id, d.queue, d.attempts,",
        "select d.id, d.queue, 0,",
    ),
    mutant(
        "many_without_their_lease",
        BUDGETS,
        "replay_many",
        "d.attempts, j.lease_ms,",
        "d.attempts, null,",
    ),
    mutant("many_before_fresh_ones", TAIL, "replay_many", "d.rank | 1", "d.rank & ~1"),
    mutant(
        "many_in_no_order",
        TAIL,
        "replay_many",
        "     order by d.died_at, d.id\n",
        "     order by d.died_at desc, d.id desc\n",
    ),
    mutant(
        "many_without_record",
        MANY + "test_each_replay_is_on_record_with_the_label",
        "replay_many",
        "jsonb_build_object('reason', d.reason, 'stalled', d.stalled, 'failures', d.failures)\n      from d",
        "jsonb_build_object('reason', d.reason, 'stalled', d.stalled, 'failures', d.failures)\n      from d where false",
    ),
    mutant(
        "the_last_chunk_too_early",
        CHUNKS,
        "replay_many",
        "when count(*) = p_limit",
        "when count(*) < p_limit",
    ),
    mutant(
        "chunks_begin_anew", CHUNKS, "dead_matching", "if p_after is not null then", "if false then"
    ),
    mutant(
        "queues_are_not_told",
        CHUNKS,
        "replay_many",
        "coalesce((select array_agg(distinct d.queue) from d), '{}')",
        "'{}'",
    ),
    # replaying one
    mutant(
        "the_policy_is_not_asked",
        ONE + "test_a_queue_that_never_replays_is_overridden_by_force_alone",
        "replay_one",
        "if v_verdict <> 'replay' and p_force is not true then",
        "if false then",
    ),
    mutant(
        "no_force_is_force",
        ONE + "test_a_queue_that_never_replays_is_overridden_by_force_alone",
        "replay_one",
        "p_force is not true",
        "not p_force",
    ),
    mutant(
        "one_permanent_stays",
        ONE + "test_one_that_is_named_goes_back_whatever_it_died_of",
        "replay_one",
        "clock_timestamp(), true)",
        "clock_timestamp(), false)",
    ),
    mutant(
        "force_leaves_no_trace",
        ONE + "test_one_that_is_too_old_for_its_queue_needs_force",
        "replay_one",
        "jsonb_build_object('forced', v_verdict)",
        "'{}'",
    ),
    mutant(
        "one_waits",
        ONE + "test_one_that_another_is_moving_is_busy",
        "replay_one",
        "where d.id = p_id for update skip locked",
        "where d.id = p_id for update",
    ),
    # discarding
    mutant(
        "no_reason_is_a_reason",
        DISCARD + "test_no_letter_goes_without_a_reason",
        "discard_many",
        "coalesce(p_reason, '') !~ '\\S'",
        "p_reason = ''",
    ),
    mutant(
        "discard_waits",
        DISCARD + "test_what_another_is_moving_is_busy_and_nobody_waits",
        "discard_many",
        "for update skip locked",
        "for update",
    ),
    mutant(
        "discards_vanish",
        DISCARD + "test_all_that_is_chosen_goes_to_the_archive_and_stays_a_duplicate",
        "discard_many",
        "'discarded', d.queue, d.worker\n      from d",
        "'discarded', d.queue, d.worker\n      from d where false",
    ),
    mutant(
        "discards_without_the_error",
        DISCARD + "test_each_discard_is_on_record_with_its_reason_and_the_whole_error",
        "discard_many",
        "'error', d.error",
        "'error', emq.headline(d.error)",
    ),
    # what groups them
    mutant(
        "groups_mix_tasks",
        GROUPS + "test_letters_that_died_of_the_same_are_one_group_the_largest_first",
        "dead_groups",
        "order by g.letters desc",
        "order by g.letters",
    ),
    mutant(
        "an_example_of_long_ago",
        GROUPS + "test_letters_that_died_of_the_same_are_one_group_the_largest_first",
        "dead_groups",
        "array_agg(m.id order by m.died_at desc, m.id desc)",
        "array_agg(m.id order by m.died_at, m.id)",
    ),
    mutant(
        "groups_of_old_code_replay_all",
        GROUPS + "test_letters_that_died_of_the_same_are_one_group_the_largest_first",
        "dead_groups",
        " filter (where m.verdict = 'replay')",
    ),
    mutant(
        "the_oldest_page_first",
        GROUPS + "test_pages_follow_one_another_without_a_gap",
        "dead_list",
        "p_filter, true, p_limit",
        "p_filter, false, p_limit",
    ),
    mutant(
        "replays_are_not_counted",
        GROUPS + "test_one_letter_has_its_error_whole_and_says_how_often_it_was_replayed",
        "dead_letter",
        "a.verb = 'replay'",
        "a.verb = 'discard'",
    ),
    mutant("numbers_count", SPLIT, "fingerprint", "'[0-9]+', '?', 'g'", "'[0-9]{9}', '?', 'g'"),
    mutant("bytes_count", SPLIT, "fingerprint", "[bru]{0,2}''", "''"),
    mutant(
        "cut_quotes_count",
        PRINTS + "test_a_quoted_part_that_is_cut_off_does_not_either",
        "fingerprint",
        "(''|$)",
        "''",
    ),
    mutant(
        "groups_have_no_first",
        LINES,
        "headline",
        "'^\\s*\\+ Exception Group",
        "'^\\s*\\+ Exception Grouped",
    ),
    mutant(
        "quoted_tracebacks_are_it",
        LINES,
        "headline",
        "arrived ~ '^Traceback'",
        "arrived ~ '^Nothing'",
    ),
    mutant(
        "the_first_of_a_chain",
        LINES,
        "headline",
        "The above exception was",
        "The exception above was",
    ),
    mutant(
        "cut_tracebacks_are_whole",
        PRINTS + "test_the_headline_of_a_traceback_that_was_cut_is_found",
        "headline",
        " and arrived !~ '\\n\\.\\.\\. [0-9,]+ bytes left out \\.\\.\\.\\n'",
    ),
)
