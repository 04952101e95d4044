"""Options that choose dead letters, the same for all commands that deal with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from emq_sql.rules import dead_filter, durations

F = Callable[..., Any]

_INSTANT = "2026-01-31T10:00:00+01:00"


def choosing(*, reason: bool = True, permanent: bool = False) -> Callable[[F], F]:
    """Add the options; the command takes them as keywords and hands them to `chosen`.

    `reason` says that --reason is another word for --died-of here, `permanent` that there is
    --include-permanent.
    """

    def decorate(command: F) -> F:
        for option in reversed(_options(reason, permanent)):
            command = option(command)
        return command

    return decorate


def chosen(given: Mapping[str, Any]) -> dict[str, Any]:
    """The filter that the options say, as the ledger reads it."""
    said = {name: value for name, value in given.items() if value not in (None, (), False)}
    for name in ("died_after", "died_before"):
        if name in said:
            said[name] = durations.instant(said[name], _option(name))
    for name in ("older_than", "younger_than"):
        if name in said:
            said[name] = durations.written(said[name], _option(name), allow_zero=True)
    return dead_filter.written(said)


def _options(reason: bool, permanent: bool) -> list[Callable[[F], F]]:
    died_of = ("--died-of", "--reason") if reason else ("--died-of",)
    options: list[Callable[[F], F]] = [
        click.option("--queue", multiple=True, help="Of this queue."),
        click.option("--task", multiple=True, help="Of this task."),
        click.option(
            *died_of, "reason" if reason else "died_of", multiple=True,
            type=click.Choice(dead_filter.REASONS),
        ),
        click.option("--fingerprint", multiple=True, help="Of this group; see emq dead group."),
        click.option("--worker", multiple=True, help="Held last by this worker."),
        click.option("--error", help="With this text in the error."),
        click.option("--died-after", help=f"Then or later, for example {_INSTANT}."),
        click.option("--died-before", help="Before then."),
        click.option("--older-than", help="Dead for so long, for example 2h or 7d."),
        click.option("--younger-than", help="Dead for less."),
        click.option("--min-attempts", type=int, help="Claimed so often or more."),
        click.option("--min-stalled", type=int, help="Lost so often or more."),
        click.option("--min-failures", type=int, help="Failed so often or more."),
    ]  # fmt: skip
    if permanent:
        options.append(
            click.option(
                "--include-permanent", is_flag=True,
                help="Those too that failed for good, or came too late.",
            )
        )  # fmt: skip
    return options


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
