"""Impossible settings are refused with the sentence that says what to change."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from emq_sql.errors import BadSetting
from emq_sql.worker.settings import WorkerSettings


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"queues": ()}, "at least one queue"),
        ({"queues": "mail"}, "tuple"),
        ({"queues": ("Mail",)}, "Queue name 'Mail' is refused"),
        ({"queues": ("a", "a")}, "Name each queue once"),
        ({"concurrency": 0}, "1 to 1000 slots"),
        ({"concurrency": 1001}, "start more workers"),
        ({"concurrency": 2.0}, "whole number"),
        ({"concurrency": True}, "whole number"),
        ({"processes": 2, "concurrency": 2}, "Leave concurrency out for processes"),
        ({"processes": 0}, "1 to 256 child processes"),
        ({"processes": 2, "max_jobs_per_child": 0}, "one job at least"),
        ({"processes": 2, "max_jobs_per_child": 1.5}, "one job at least"),
        ({"max_jobs_per_child": 3}, "Set processes too"),
        ({"poll": timedelta(0)}, "poll is zero"),
        ({"poll": timedelta(milliseconds=1)}, "Set it to 0.01 s or more"),
        ({"grace": timedelta(seconds=-1)}, "grace is negative"),
        ({"lease": timedelta(milliseconds=100)}, "the shortest lease is 0.2 s"),
        ({"lease": timedelta(days=2)}, "the longest lease is one day"),
        ({"lease": timedelta(seconds=1), "extend": timedelta(seconds=0.4)}, "over a third"),
        ({"extend": timedelta(seconds=11)}, "Set the lease too"),
    ],
)
def test_an_impossible_setting_is_refused_and_says_what_to_change(
    given: dict[str, Any], said: str
) -> None:
    with pytest.raises(BadSetting, match=said):
        WorkerSettings(**{"queues": ("default",)} | given)


def test_a_run_of_hours_under_a_short_lease_and_no_grace_is_legal() -> None:
    settings = WorkerSettings(
        ("mail",), grace=timedelta(0), lease=timedelta(seconds=2), concurrency=1000
    )
    assert settings.queues == ("mail",)
