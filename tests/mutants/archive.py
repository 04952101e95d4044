"""Mutants of retention, of the archive's questions, and of the story of a job."""

# ruff: noqa: E501  a node id is not broken

from __future__ import annotations

from tests.mutants.mutant import Mutant, mutant

TIDY = "tests/protocol/test_tidy.py::"
SEARCH = "tests/protocol/test_search.py::"
AS_OF = "tests/protocol/test_as_of.py::"
STORY = "tests/protocol/test_story.py::"
ROLES = "tests/security/test_roles.py::"
EACH_KIND = TIDY + "test_completed_cancelled_and_dead_have_a_retention_each"
LONGEST = TIDY + "test_the_longest_retention_of_all_decides_when_a_day_is_dropped"
LETTER = TIDY + "test_a_dead_letter_older_than_every_retention_is_kept_with_its_attempts"
ONCE = TIDY + "test_a_day_is_visited_once_for_all_queues_and_never_again_while_nothing_is_due"
FEW_DAYS = STORY + "test_a_place_and_a_story_lock_only_the_days_since_the_job"

MUTANTS: tuple[Mutant, ...] = (
    # tidy
    mutant("tidy_in_an_old_snapshot", TIDY + "test_it_speaks_of_read_committed_only", "tidy",
           "if current_setting('transaction_isolation') <> 'read committed' then", "if false then"),
    mutant("tidy_two_at_once", TIDY + "test_two_at_once_are_busy", "tidy",
           "if not pg_try_advisory_xact_lock(7308, 'emq.tidying'::regclass::oid::int) then", "if false then"),
    mutant("tidy_stops_at_what_is_busy", TIDY + "test_a_step_that_cannot_have_its_lock_keeps_no_other_kind_waiting",
           "tidy", "if did <> 'busy' then", "if did is not null then"),
    mutant("tidy_stops_at_what_fails", TIDY + "test_a_step_that_fails_is_a_warning_and_stops_none_of_the_others",
           "tidy", "      when others then\n", "      when division_by_zero then\n"),
    mutant("late_days_are_counted_each_time",
           TIDY + "test_a_day_with_rows_that_its_export_lacks_stays_and_is_not_counted_each_time",
           "tidy_days", "\n       and not exists (select from emq.tidying t\n"
           "                        where t.what = x.name and t.ended_at > clock_timestamp() - interval '10 min')"),
    # the longest retention, and shorter ones
    mutant("longest_without_cancelled", LONGEST, "kept_from", ", q.cancelled)", ")"),
    mutant("longest_without_completed", LONGEST, "kept_from", ", q.finished,", ","),
    mutant("any_retention_counted_back", TIDY + "test_any_retention_that_may_be_set_can_be_counted_back",
           "ago", "p_retention > interval '5000 years'", "false"),
    mutant("tidy_any_envelope", TIDY + "test_an_id_that_lives_again_keeps_its_envelope_when_its_old_row_goes",
           "tidy_queues", " and y.enqueued_at < m.finished_at + interval ''1 h''"),
    mutant("tidy_all_kinds_alike", EACH_KIND, "tidy_queues", " and t.completed = c.completed"),
    mutant("tidy_one_queue_for_all", EACH_KIND, "tidy_queues",
           "\n                         and t.queue = case when q.own is null then ''*'' else c.queue end"),
    mutant("tidy_not_those_that_say_nothing",
           TIDY + "test_queues_that_say_nothing_keep_what_the_ledger_says_though_another_keeps_more",
           "tidy_queues", "case when q.own is null then ''*'' else c.queue end", "c.queue"),
    mutant("tidy_days_again_and_again", ONCE, "tidy_queues",
           "    update emq.tidied t set through = v_day, day = null where t.day = v_day;\n    if s.gone",
           "    update emq.tidied t set day = null where t.day = v_day;\n    if s.gone"),
    mutant("tidy_by_old_settings",
           TIDY + "test_a_retention_that_is_made_longer_in_the_middle_of_a_visit_is_heeded_at_once",
           "tidy_marks", "set retention = n.retention, day = null", "set retention = n.retention"),
    mutant("tidy_forgets_who_said_nothing_any_more",
           TIDY + "test_a_queue_that_says_nothing_any_more_is_done_from_where_it_was_left",
           "tidy_marks", "set through = least(t.through, g.through), day = null", "set day = null"),
    # dead letters and attempts
    mutant("dead_of_any_age", EACH_KIND, "tidy_dead", " and y.died_at < q.before"),
    mutant("attempts_of_the_living_go", LETTER, "tidy_attempts",
           "\n          and not exists (select from emq.job j where j.id = a.id offset 0)"),
    mutant("attempts_of_the_living_go_with_their_day", LETTER, "drop_attempts",
           "where a.id = any ($1)", "where false"),
    mutant("attempts_of_any_number_are_moved",
           TIDY + "test_a_day_of_attempts_with_many_that_must_stay_is_left_as_it_is",
           "tidy_attempts", "if v_n > 10 * p_limit then", "if false then"),
    mutant("records_of_any_age", TIDY + "test_refusals_late_extensions_and_audit_rows_go_when_they_are_old",
           "tidy_records", "where r.at < $1", "where r.at < $1 + interval ''31 days''"),
    mutant("strays_of_any_age", TIDY + "test_rows_in_no_day_go_by_the_retention_of_their_queue",
           "tidy_strays", "least(coalesce(q.before, v_kept), v_closed)", "v_closed"),
    # search, as_of
    mutant("search_without_a_cap", SEARCH + "test_a_thousand_rows_is_the_most_whatever_is_asked_for",
           "search", "least(coalesce(p_limit, 100), 1000)", "coalesce(p_limit, 100)"),
    mutant("search_not_in_the_gaps", SEARCH + "test_the_newest_come_first_whatever_day_they_lie_in",
           "search", "union all select d.last, d.next from d where v_strays and d.last < d.next"),
    mutant("search_days_of_before", SEARCH + "test_days_before_a_jobs_id_are_not_read_for_it",
           "search", "if p_filter ? 'id' then", "if false then"),
    mutant("search_another_lifes_envelope",
           SEARCH + "test_a_job_whose_envelope_has_gone_is_found_by_all_but_what_was_in_it",
           "search", "j.id = a.id and j.enqueued_at < a.finished_at + interval ''1 h''", "j.id = a.id"),
    mutant("slips_mean_all_finished_jobs",
           SEARCH + "test_what_cannot_be_said_of_a_finished_job_is_refused_with_what_can",
           "search_where", "if not v_ok then", "if false then"),
    mutant("as_of_the_future", AS_OF + "test_of_an_instant_to_come_there_is_nothing",
           "as_of", " or p_at > clock_timestamp()"),
    mutant("as_of_cancelled_twice", AS_OF + "test_a_job_that_was_cancelled_while_it_ran_was_in_flight_once",
           "as_of", "\n              and r.status = ''completed''"),
    mutant("as_of_before_the_claim", AS_OF + "test_it_says_what_the_ledger_said_at_that_instant",
           "as_of", " and t.claimed_at <= $1"),
    # place and story
    mutant("place_of_all_days", FEW_DAYS, "place", " and r.finished_at >= $2 and r.finished_at < $3"),
    mutant("story_of_all_days", FEW_DAYS, "story", " and a.ended_at >= $2 and a.ended_at < $3"),
    mutant("story_of_any_file", STORY + "test_the_file_that_has_a_job_is_told_and_those_that_may_have_it",
           "story", "$1 between p.min_id and p.max_id", "true"),
    mutant("search_open_to_the_public", ROLES + "test_a_role_may_call_what_the_table_says_and_nothing_else[nobody]",
           "search", "revoke all on function emq.search from public;"),
)  # fmt: skip
