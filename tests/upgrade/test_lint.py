"""No step blocks who works beside it, nor breaks the code that runs: squawk looks over each."""

from __future__ import annotations

import pytest

from emq_sql.protocol import steps
from tests.upgrade.squawk import SQUAWK, complaints, of_step


@pytest.mark.skipif(not SQUAWK.is_file(), reason="squawk-cli is not installed")
@pytest.mark.parametrize("step", steps.all_steps(), ids=lambda step: step.name)
def test_a_step_up_blocks_nobody_and_breaks_no_running_code(step: steps.Step) -> None:
    assert of_step(step) == ""


@pytest.mark.skipif(not SQUAWK.is_file(), reason="squawk-cli is not installed")
@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("alter table emq.job add column x int not null;", "adding-required-field"),
        ("create index job_task_idx on emq.job (task);", "require-concurrent-index-creation"),
        ("alter table emq.job drop column headers;", "ban-drop-column"),
    ],
)
def test_the_linter_is_not_blind(statement: str, rule: str) -> None:
    assert rule in complaints(statement, "bad.sql")
