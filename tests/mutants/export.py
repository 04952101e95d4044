"""Mutants of the export: of closed days, of its records, and of what it keeps retention from."""

# ruff: noqa: E501  a node id is not broken

from __future__ import annotations

from tests.mutants.mutant import Mutant, mutant
from tests.mutants.rendering import Change

CLOSED = "tests/protocol/test_closed.py::"
RETIRE = "tests/protocol/test_retire_exported.py::"
ROWS = "tests/protocol/test_export_rows.py::"
HOLDS = CLOSED + "test_whoever_finished_a_job_before_the_first_look_holds_the_day_and_is_named"
ALONE = RETIRE + "test_who_is_at_work_on_a_day_has_it_alone"
SILENT = (
    RETIRE + "test_an_exporter_that_was_silent_for_long_records_nothing_once_another_has_the_day"
)
IN_STEPS = RETIRE + "test_an_exported_day_is_retired_in_steps_and_its_record_says_so"

MUTANTS: tuple[Mutant, ...] = (
    # closed
    mutant("closed_by_the_clock", HOLDS, "closed", "where age(h.xid) >= age(v_xid::xid)", "where false"),
    mutant("held_by_the_next_day", CLOSED + "test_whoever_finishes_a_job_after_the_first_look_does_not_hold_the_day",
           "closed", "where age(h.xid) >= age(v_xid::xid)", "where true"),
    mutant("held_by_anybody", CLOSED + "test_a_transaction_that_has_finished_no_job_does_not_hold_the_day",
           "closed", "r.relation = 'emq.archive'::regclass and r.mode = 'RowExclusiveLock'\n         and r.database =",
           "r.mode = 'ExclusiveLock'\n         and coalesce(r.database, (select d.oid from pg_database d where d.datname = current_database())) ="),
    mutant("closed_before_it_is_over", CLOSED + "test_a_day_that_is_not_over_by_an_hour_is_open",
           "closed", "if clock_timestamp() < (p_day + 1)::timestamptz + interval '1 hour' then", "if false then"),
    mutant("a_note_of_another_server", CLOSED + "test_a_note_from_another_server_is_taken_anew",
           "closed", " or v_xid >= pg_snapshot_xmax(pg_current_snapshot())"),
    # What may be deleted
    mutant("export_first_is_not_asked",
           RETIRE + "test_a_day_goes_without_an_export_unless_the_ledger_says_export_first",
           "export_stands", " or (select m.export_first from emq.meta m)"),
    mutant("an_export_that_was_begun_is_nothing",
           RETIRE + "test_an_export_that_was_begun_keeps_the_day_whoever_wanted_it",
           "export_stands", "\n                     or exists (select from emq.export_part x where x.day = p_day)"),
    mutant("damaged_is_exported", RETIRE + "test_files_found_damaged_keep_the_day",
           "export_stands", "if e.verified_at is null then", "if e.day is null then"),
    mutant("late_rows_go_too", RETIRE + "test_a_row_that_comes_after_the_export_keeps_the_day",
           "export_stands", "if v_n + e.removed <> e.rows then", "if false then"),
    mutant("late_rows_between_steps_go_too",
           RETIRE + "test_a_row_that_comes_between_two_steps_does_not_lose_its_envelope",
           "late_row", "set compared = false", "set compared = true"),
    mutant("late_rows_while_a_step_deletes", RETIRE + "test_a_late_writer_waits_while_a_step_deletes",
           "export_stands", " where x.day = p_day for update;", " where x.day = p_day;"),
    mutant("late_rows_past_the_trigger_go_too",
           RETIRE + "test_a_row_that_came_past_the_trigger_is_counted_before_the_drop",
           "retire", "if found and v_n + e.removed <> e.rows then", "if false then"),
    mutant("retired_beside_the_exporter", ALONE, "export_stands",
           "if not found or emq.export_at_work(p_day) then", "if false then"),
    mutant("two_exporters", ALONE, "export_begin",
           "if not found or emq.export_at_work(p_day) then", "if false then"),
    mutant("forgotten_beside_the_exporter", ALONE, "export_forget", "\n     or emq.export_at_work(p_day) then", " then"),
    # The fence
    mutant("no_fence", SILENT, "export_extend", " and c.fence = p_fence"),
    mutant("files_of_a_stale_exporter", SILENT, "export_add", "  perform emq.export_extend(p_day, p_fence);\n"),
    mutant("a_day_of_a_stale_exporter", SILENT, "export_done", "  perform emq.export_extend(p_day, p_fence);\n"),
    mutant("a_stale_exporter_lets_go", SILENT, "export_end", " and c.fence = p_fence"),
    mutant("a_frozen_exporter_has_the_day_for_ever", SILENT, "export_at_work",
           "\n                    and c.seen_at > clock_timestamp() - interval '5 min'"),
    mutant("a_session_that_ended_is_waited_for",
           RETIRE + "test_an_exporter_whose_session_has_ended_is_not_waited_for", "export_at_work",
           "\n                    and exists (select from pg_stat_get_activity(c.session::int))"),
    mutant("an_exporter_at_work_is_not_seen",
           RETIRE + "test_an_exporter_that_says_it_is_at_work_keeps_the_day",
           "export_extend", "set seen_at = clock_timestamp(), ", "set "),
    mutant("read_before_retention_recorded_after",
           RETIRE + "test_a_step_of_retention_takes_the_day_from_a_silent_exporter",
           "export_stands", "  update emq.export_claim c set fence = null where c.day = p_day and c.fence is not null;\n"),
    mutant("a_version_twice", RETIRE + "test_a_version_of_which_parts_were_forgotten_is_not_written_again",
           "export_begin", "    version := version + 1;\n"),
    mutant("a_look_at_other_files", RETIRE + "test_a_look_at_former_files_says_nothing_of_the_present_ones",
           "export_verified", " and x.version = p_version"),
    mutant("obliterated_rows_are_missed", RETIRE + "test_obliterated_rows_are_counted_as_removed",
           "erase", "set removed = e.removed + k.n", "set removed = e.removed"),
    mutant("short_retentions_are_missed",
           RETIRE + "test_rows_that_shorter_retentions_delete_are_counted_as_removed",
           "tidy_queues", "set removed = x.removed + v_gone", "set removed = x.removed"),
    mutant("short_retentions_before_the_export", RETIRE + "test_shorter_retentions_wait_for_the_export",
           "tidy_queues", "if v_stands <> 'yes' then", "if false then"),
    # The record of the drop
    mutant("a_drop_without_record", IN_STEPS, "retire", "set dropped_at = clock_timestamp(), ", "set "),
    mutant("a_dropped_day_is_not_gone_on_with",
           RETIRE + "test_a_dropped_day_that_gets_a_row_is_exported_on",
           "retire", ", removed = x.rows where"," where"),
    # Beginning and ending
    mutant("half_gone_and_elsewhere", RETIRE + "test_a_day_that_is_half_gone_is_not_exported_to_another_place",
           "export_begin", "if not late and (e.removed > 0 or e.retiring_since is not null) then", "if false then"),
    mutant("half_gone_and_forgotten", RETIRE + "test_a_day_that_is_half_gone_is_not_exported_to_another_place",
           "export_forget", " or e.retiring_since is not null"),
    mutant("parts_of_another_place", RETIRE + "test_parts_of_an_export_to_another_place_are_not_gone_on_with",
           "export_begin", " or bool_or(x.location <> p_location)"),
    mutant("parts_of_former_versions",
           RETIRE + "test_a_whole_day_may_be_exported_to_another_place_and_counts_there",
           "export_done", "  if not p_late then\n", "  if false then\n"),
    mutant("any_version", RETIRE + "test_a_record_is_the_next_version_or_none",
           "export_done", "if p_version is null or p_version <= e.version then", "if false then"),
    # Rows
    mutant("rows_with_another_lifes_envelope",
           ROWS + "test_an_envelope_of_another_life_of_the_id_is_not_the_rows_own",
           "export_rows", " and y.enqueued_at < a.finished_at + interval ''1 h''"),
    Mutant("rows_of_one_id_are_lost", ROWS + "test_rows_of_one_id_are_not_lost_between_pages",
           (Change("export_rows", "where a.id >= $1 and (a.id, a.finished_at) > ($1, $2)",
                   "where a.id > $1 and $2 is not null"),)),
    mutant("rows_joined_by_a_plan_that_flips",
           "tests/plans/test_plans.py::test_no_function_walks_a_whole_hot_table[pinned-retire]",
           "export_rows", "y.id = any (array[a.id])", "y.id = a.id"),
    mutant("pages_of_any_size", ROWS + "test_pages_are_bounded_by_rows_and_by_the_size_of_their_json",
           "export_rows", "    exit when v_bytes >= p_bytes;\n"),
)  # fmt: skip
