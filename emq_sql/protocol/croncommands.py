"""The commands that pg_cron runs. Each begins with the mark of its ledger, in a comment."""

from __future__ import annotations

from collections.abc import Iterable

_REST_OF_THE_MINUTE = "greatest(0, 55 - extract(second from clock_timestamp())::int)"


def one_pass(schema: str) -> str:
    """One pass of upkeep."""
    return f"select {schema}.maintain()"


def passes_within_the_minute(schema: str, every: int) -> str:
    """A pass each `every` seconds until five seconds before the next minute, however late in this
    one it was started.
    """
    return f"call {schema}.maintain_loop({_REST_OF_THE_MINUTE}, '{every} s')"


def tidying(schema: str) -> str:
    """One pass of upkeep, and then retention, until nothing is left to do or for 50 seconds."""
    return f"call {schema}.maintain_loop(50, '1 min')"


def pruning(names: Iterable[str], mark: str, keep: int) -> str:
    """Of the runs of these jobs, and of all that bear the mark, the newest `keep` stay."""
    listed = ", ".join(_literal(name) for name in names)
    return (
        "delete from cron.job_run_details where runid in"
        " (select d.runid from cron.job_run_details d"
        f" where d.jobid in (select j.jobid from cron.job j where j.jobname in ({listed}))"
        f" or starts_with(d.command, {_literal(mark)}) order by d.runid desc offset {keep})"
    )


def _literal(text: str) -> str:
    quoted = text.replace("'", "''")
    return "E'" + quoted.replace("\\", "\\\\") + "'" if "\\" in text else f"'{quoted}'"
