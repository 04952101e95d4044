"""Screens show names as they are, and no more than was asked for."""

from __future__ import annotations

import io
import uuid

import pytest

from emq_sql.demo.scene import Flight, Progress
from emq_sql.demo.screen import Plain

NASTY = "/home/[bold]x[/bold]\x1b[31m\n.py"
FLIGHT = Flight(uuid.UUID(int=7), 1, "measure", None, False, 2, 0.5, 1.5, NASTY)
PROGRESS = Progress(enqueued=9, done=3, waiting=5, in_flight=1)


def test_plain_lines_are_rare_and_printable() -> None:
    lines: list[str] = []
    with Plain(lines.append) as screen:
        screen.say("begun")
        for _ in range(50):
            screen.show(9, PROGRESS, [FLIGHT] * 6)
    assert len(lines) == 2
    assert all(line.isprintable() for line in lines)
    assert "3 of 9 done" in lines[1]
    assert "2 more" in lines[1]


def test_a_quiet_screen_says_nothing() -> None:
    lines: list[str] = []
    with Plain(lines.append, quiet=True) as screen:
        screen.say("begun")
        screen.show(9, PROGRESS, [FLIGHT])
    assert lines == []


def test_the_live_screen_takes_no_name_for_markup_or_control() -> None:
    pytest.importorskip("rich")
    from rich.console import Console

    from emq_sql.demo.live import Live

    console = Console(file=io.StringIO(), force_terminal=True, color_system=None, width=120)
    with Live(console) as screen:
        screen.say("begun [bold]")
        screen.show(9, PROGRESS, [FLIGHT])
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "begun [bold]" in shown
    assert "/home/[bold]x[/bold]?[31m?.py" in shown
