"""squawk looks over each step, as one file: what a step makes it may alter for free."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from emq_sql.protocol import steps

ROOT = Path(__file__).resolve().parents[2]
SQUAWK = Path(sys.executable).parent / "squawk"


def complaints(text: str, name: str) -> str:
    done = subprocess.run(
        [SQUAWK, "--reporter", "gcc", "--stdin-filepath", name],
        input=text, capture_output=True, text=True, check=False, cwd=ROOT, timeout=60,
    )  # fmt: skip
    return done.stdout + done.stderr


@pytest.mark.skipif(not SQUAWK.is_file(), reason="squawk-cli is not installed")
@pytest.mark.parametrize("step", steps.all_steps(), ids=lambda step: step.name)
def test_a_step_up_blocks_nobody_and_breaks_no_running_code(step: steps.Step) -> None:
    assert complaints("\n".join(steps.statements(step, "up")), f"{step.name}.sql") == ""


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
