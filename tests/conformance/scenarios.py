"""EchoMQ's 79 conformance scenarios, each with what became of it here.

`python -m tests.conformance.scenarios` prints the table of docs/reference/echomq.md.
"""

# ruff: noqa: E501  a test's name is not broken

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

Status = Literal["ported", "later", "deviates"]


@dataclass(frozen=True, slots=True)
class Scenario:
    """Its own name and family; the test when ported; `note` is the difference, or the reason."""

    family: str
    name: str
    status: Status
    test: str = ""
    note: str = ""


def ported(name: str, rest: str, note: str = "") -> Scenario:
    """The test is `test_<name>_<rest>` of the family's file."""
    return Scenario("", name, "ported", f"test_{name}_{rest}", note)


def later(note: str, *names: str) -> list[Scenario]:
    return [Scenario("", name, "later", note=note) for name in names]


def deviates(name: str, note: str) -> Scenario:
    return Scenario("", name, "deviates", note=note)


LANES = "lanes (fair groups)"
LIMITS = "limits and rates"
FLOWS = "flows"
REPEAT = "periodic jobs"
STREAMS = "streams"

_FAMILIES: dict[str, list[Scenario | list[Scenario]]] = {
    "state machine": [
        ported(
            "fence", "a_client_refuses_a_schema_that_it_was_not_made_for",
            "The version is that of the schema, `emq.meta.version`; nothing writes it but a step.",
        ),
        ported("mint", "a_new_job_is_pending_at_attempt_zero_with_its_payload"),
        ported("duplicate", "a_known_id_adds_nothing_and_the_first_payload_stays"),
        ported(
            "kind", "an_id_of_another_kind_is_refused_and_leaves_no_row",
            "Ids have no name space. What is refused is an id that is no UUIDv7 (EQ002), or that is dated more than a day ahead (EQ003).",
        ),
        ported(
            "order", "ids_tell_the_time_by_themselves_and_the_line_is_in_order_of_enqueue",
            "The line is in order of enqueue and not of minting: an id may be made long before, from a key, and must not jump the line.",
        ),
        ported("claim", "makes_a_job_active_at_attempt_one_with_its_payload", "The fence is `attempts << 40 | nonce`, not the attempt alone."),
        ported("stale", "a_wrong_fence_is_refused_and_the_right_one_settles_in_a_new_session", "The answer is `lost`, and the refusal is kept as a row. A new session stands for the cold script cache."),
        ported("complete", "takes_the_job_out_of_the_ledger_and_keeps_its_result", "The row is not deleted: the job is in the archive with its result, and its id stays a duplicate."),
        ported("retry", "waits_with_its_error_kept_and_comes_back_at_attempt_two", "The budget is the job's or its queue's, not an argument of the call. Each attempt keeps its error."),
        ported("dead", "at_a_budget_of_one_the_error_is_kept_where_it_can_be_read"),
        ported("reap", "takes_back_an_expired_lease_and_the_next_claim_is_attempt_two", "There is one sweep, and it counts: `stalled` grows with each lost lease."),
        *later(LANES, "rotate", "pause", "limit"),
        ported("schedule", "a_delayed_job_is_not_claimed_before_it_is_promoted"),
        *later(REPEAT, "repeat"),
        ported("backoff", "a_job_that_always_fails_dies_at_exactly_its_third_attempt"),
        ported("resubscribe", "a_listener_whose_connection_was_cut_hears_the_bell_again", "What is heard is the bell of a queue; there are no events. Shown with the Python worker."),
    ],
    "read plane": [
        ported("counts", "agree_with_what_was_done_and_an_unknown_state_is_an_error", "Counts are the columns of `emq.depth`, so an unknown state is an unknown column (42703)."),
        ported("state", "of_a_job_is_its_place_and_an_unknown_id_has_none", "Absent is no row."),
        ported("metrics", "count_each_completed_job_once_and_nothing_else", "No counter is kept, since one hot row would slow every completion down: the archive is counted."),
        ported("dedup", "a_key_leads_to_its_job_and_another_key_to_none", "The key is in the id: `emq.job_id(key, at)`. There is no second memory that could differ."),
        *later(LIMITS, "rate"),
        *later(LANES, "lane_depth"),
    ],
    "operator": [
        ported("queue_pause", "leaves_the_line_as_it_is_and_resume_serves_its_head", "The pause is part of the claim's own statement."),
        ported("drain", "removes_what_waits_and_the_running_job_survives", "What is removed is in the archive as cancelled, and its ids stay duplicates until retention. Delayed jobs go when that is asked."),
        ported("obliterate", "refuses_a_wrong_name_and_a_running_job_and_then_leaves_nothing", "The verb pauses the queue itself, and asks for its name once more. Nothing is changed while a job runs, unless it is forced to end."),
        deviates("update_data", "An envelope is written once. What an attempt was given can be relied on afterwards, and the row is never rewritten under a running handler. Cancel the job and enqueue another one."),
        deviates("update_progress", "A handler writes its progress into a table of the application, in the same database. Rows of the queue's own tables are inserted and deleted; the one update is the lease, and a progress in it would make a dead row at each step."),
        deviates("job_logs", "Log lines belong to logging, with the job's id in each record. What happened to a job, its errors among it, is told by `emq.story`."),
        ported("remove_job", "takes_a_job_away_for_good_and_waits_for_no_open_transaction", "Two verbs: `cancel` for a job that waits or runs, `discard` for a dead one. A running job is not refused, its fence ends; only a row in an open transaction is (`busy`). The id stays a duplicate until retention."),
        ported("reprocess_job", "puts_a_dead_job_back_and_refuses_a_live_one", "`replay`. The budget starts afresh, the attempts go on; the error stays in the attempt and in the audit."),
    ],
    "watch": [
        ported("lock_extend", "a_lease_that_was_extended_outlives_its_first_deadline"),
        ported("stalled", "the_first_lapse_recovers_and_the_second_kills_at_a_limit_of_two", "The limit is the number of lost leases that kills, in every path."),
        deviates("events", "Nothing is published when a job ends: a notification in the commit of a completion takes one lock of the whole cluster. `outcome`, `result`, `place` and the archive answer, and none of them can be missed."),
        *later("metrics and traces", "telemetry"),
        ported("cancel", "reaches_the_holder_with_its_extension_and_no_other_job", "Across processes and hosts: the operator ends the fence, and `keep` answers `cancelled`."),
    ],
    "depth": [
        ported("unknown_state", "cannot_be_reached_by_any_row_of_verbs", "Shown to be impossible: after any row of verbs the job is in exactly one place."),
        ported("rate_consult", "at_the_ceiling_one_runs_and_one_waits_until_the_slot_is_free", "Nobody consults: the claim itself keeps the queue's `max_active`."),
        deviates("dedup_release", "The memory of an id is not released by hand: it ends with retention. Released earlier, an old caller could bring a finished job to life again."),
        ported("extend_locks_batch", "answers_for_the_live_the_stale_and_the_gone", "The answer has a word for each job, in order, not the failed ids alone."),
        *later(LANES, "stalled_group", "obliterate_grouped"),
    ],
    "groups": later(LANES, "reassign", "lane_drain", "reap_group"),
    "flows": later(
        FLOWS, "flow_add", "flow_fanin", "flow_children_values", "flow_cross_queue",
        "flow_fail_parent", "flow_ignore_dep", "flow_add_bulk", "flow_grandchild",
        "flow_grandchild_fail",
    ),
    "pool": [
        ported("pool_enqueue", "an_id_added_over_many_pooled_connections_is_one_job", "The pool is SQLAlchemy's, and the eight calls run at the same time."),
        ported("pool_order", "is_the_same_whichever_connections_add_and_claim", "One call after another. Among concurrent claims the order is approximate."),
    ],
    "lock field": [
        ported("native_lock_field", "a_lease_ends_by_itself_and_the_job_stays_whole", "The lease is the lock; nothing has to expire beside it. Until somebody reaps, it is still the holder's."),
        ported("native_lock_refuses", "others_while_it_is_held_and_heals_by_itself", "As above; healing is the next reap."),
    ],
    "weights": later(LANES, "weighted_proportion", "starvation_drill"),
    "batch": [
        ported("batch_claim", "takes_the_oldest_in_order_each_at_attempt_one", "Each lease counts from the instant of its own row, microseconds apart, and jobs may name leases of their own."),
        ported("batch_claim_short", "is_no_error_and_a_paused_queue_is_left_alone"),
        ported("batch_partial_failure", "only_the_failed_one_comes_back"),
        *[
            deviates(name, "A handler runs one job. Many are claimed and settled in one statement each, and none waits for a batch to fill.")
            for name in ("batch_shaping_floor", "batch_shaping_timeout", "batch_shaping_partial_failure")
        ],
        *later(LANES, "grouped_batch_affinity", "grouped_batch_ceiling", "grouped_batch_fairness"),
        ported("batch_partition", "each_job_has_one_answer_in_the_order_asked", "A verb answers with a list in step with its ids. A caller with several verbs joins the lists."),
        ported("batch_delay", "counts_nothing_and_the_next_fence_is_higher", "`snooze`. It uses no budget."),
        ported("batch_delay_stale", "the_old_holder_is_refused_and_the_new_one_unharmed"),
    ],
    "streams": later(
        STREAMS, "stream_verbs", "stream_append", "stream_group", "stream_retention",
        "stream_archived", "stream_time_travel",
    ),
}  # fmt: skip


def _flat(given: list[Scenario | list[Scenario]]) -> list[Scenario]:
    return [one for each in given for one in (each if isinstance(each, list) else [each])]


SCENARIOS = tuple(
    Scenario(family, one.name, one.status, one.test, one.note)
    for family, given in _FAMILIES.items()
    for one in _flat(list(given))
)


def file_of(scenario: Scenario) -> str:
    """Where the test of a ported scenario is."""
    return f"tests/conformance/test_{scenario.family.replace(' ', '_')}.py"


def summary() -> str:
    """How many of each, in a sentence."""
    n = Counter(one.status for one in SCENARIOS)
    return (
        f"Of the {len(SCENARIOS)} scenarios {n['ported']} are ported, {n['later']} come later with what"
        f" they are about, and {n['deviates']} deviate."
    )


def table() -> str:
    """The scenarios as the page shows them."""
    rows = ["| family | scenario | here | test, difference or reason |", "|---|---|---|---|"]
    for one in SCENARIOS:
        test = f"[`{one.test}`](../../{file_of(one)}). " if one.test else ""
        note = f"Comes with {one.note}." if one.status == "later" else one.note
        rows.append(f"| {one.family} | {one.name} | {one.status} | {(test + note).strip()} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    print(f"{summary()}\n\n{table()}", end="")
