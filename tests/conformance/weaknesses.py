"""EchoMQ's known weaknesses, by the numbers of our own list, each with the tests that hold us to more.

`python -m tests.conformance.weaknesses` prints the table of docs/reference/echomq.md.
"""

# ruff: noqa: E501  a test's name is not broken

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Weakness:
    """What goes wrong there; the tests here, or when the matter comes."""

    number: int
    there: str
    tests: tuple[str, ...] = ()
    later: str = ""


HERE = "tests/protocol/test_echomq_weaknesses.py"
LANES, FLOWS = "lanes (fair groups)", "flows"


def here(*names: str) -> tuple[str, ...]:
    return tuple(f"{HERE}::test_{name}" for name in names)


WEAKNESSES = (
    Weakness(1, "two sweeps take the same expired leases and only one counts, so a job that kills its worker never ends", here("a_job_that_kills_its_workers_does_not_loop_for_ever")),
    Weakness(2, "the first lost lease kills where the documents say the second", here("max_stalled_is_the_number_of_lost_leases_that_kills")),
    Weakness(3, "the token lives on after the job was given back: it runs twice, or is lost", here("a_fence_is_dead_once_its_job_was_given_back", "extend_after_reap_does_not_put_the_job_into_two_places", "complete_after_retry_leaves_the_retry_in_place")),
    Weakness(4, "a late completion of a job that waits in line again is accepted", here("a_late_complete_of_a_reaped_and_unclaimed_job_is_refused")),
    Weakness(5, "the sweep kills a child without telling its parent", later=FLOWS),
    Weakness(6, "a stall death leaves its lane asleep", later=LANES),
    Weakness(7, "delaying or removing a job leaks its lane's slot, or leaves a ghost to be claimed", here("nothing_becomes_active_without_its_envelope"), "the slots with " + LANES),
    Weakness(8, "a job put back from the dead is out of budget at once, and where no worker looks", here("a_replayed_job_goes_on_with_its_attempts_and_has_a_fresh_budget", "every_way_back_leads_into_the_line_that_is_claimed")),
    Weakness(9, "there are two kinds of lines, and the usual worker serves one", here("every_way_back_leads_into_the_line_that_is_claimed")),
    Weakness(10, "an id that is enqueued again begins at the first token, which an old holder still has", here("an_id_that_lives_again_never_sees_an_old_fence")),
    Weakness(11, "what arrives while the archive is being trimmed can be deleted unfolded", ("tests/attacks/test_retention.py::*",)),
    Weakness(12, "one counter is token, count of deliveries and budget", here("a_crash_or_a_delay_uses_none_of_the_retry_budget")),
    Weakness(13, "the worker does not extend, and ignores what a completion answers", (*here("a_completion_nobody_asked_for_is_not_a_success"), "tests/conformance/test_worker.py::test_a_job_that_outlasts_its_lease_is_extended_and_runs_once")),
    Weakness(14, "jobs that come back jump by the time of their id; the dead have no time", here("a_recovered_job_keeps_its_level_and_goes_before_fresh_ones", "a_retried_or_promoted_job_does_not_jump_the_line", "a_dead_letter_has_a_time")),
    Weakness(15, "pause is looked up before the claim; limits are not enforced", (*here("a_pause_is_part_of_the_claim"), "tests/protocol/test_max_active.py::test_many_who_claim_at_once_never_pass_it"), "rates with limits and rates"),
    Weakness(16, "periodic jobs drift, and fire twice after a crash", later="periodic jobs"),
    Weakness(17, "flows lose count, strand parents and leak keys", later=FLOWS),
    Weakness(18, "emptying a queue leaves keys behind", ("tests/protocol/test_obliterate.py::test_nothing_of_the_queue_is_left_and_nothing_of_another_is_touched",)),
    Weakness(19, "a job in a lane is of unknown state, and missing from the counts", here("where_a_job_is_and_how_many_there_are_agree_in_every_place")),
    Weakness(20, "a limited sweep can starve one queue behind another", here("a_full_reap_is_followed_by_the_next_page_and_starves_no_queue")),
    Weakness(21, "ids are forgotten at completion; no result, no errors kept; callers disagree about the budget", here("an_id_is_remembered_after_its_job_has_completed", "nothing_becomes_active_without_its_envelope", "the_budget_belongs_to_the_job_and_its_queue_and_not_to_the_caller")),
    Weakness(22, "its course mixes up which mechanism prevents what", ("tests/faults/test_seed_lessons.py::*",)),
)  # fmt: skip


def table() -> str:
    """The weaknesses as the page shows them."""
    rows = ["| | there | held here by |", "|---|---|---|"]
    for one in WEAKNESSES:
        by = [_link(test) for test in one.tests]
        by += [f"comes with {one.later}"] if one.later else []
        rows.append(f"| {one.number} | {one.there} | {'; '.join(by)} |")
    return "\n".join(rows) + "\n"


def _link(test: str) -> str:
    path, name = test.split("::")
    return f"[`{path if name == '*' else name}`](../../{path})"


if __name__ == "__main__":
    print(table(), end="")
