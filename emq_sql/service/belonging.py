"""Whether a worker may run the jobs of this database: a copy of it runs nothing."""

from __future__ import annotations

from typing import Any

import psycopg

from emq_sql.errors import EnvironmentMismatch
from emq_sql.protocol import operating, reading

_ADOPT = (
    "If it is a copy, say what becomes of its jobs: emq adopt --hold (they stay, their queues are"
    " paused), --discard (they are given up) or --run (they run here)"
)


def require_home(connection: psycopg.Connection[Any], schema: str, environment: str | None) -> None:
    """Raise EnvironmentMismatch unless the jobs of this database are this application's to run.

    A database with a tag is whoever's names the same, wherever it is. One without is at home where
    a worker first ran in it; where the server does not say where it is, nothing is known.
    """
    tagged = reading.meta(connection, schema)["environment"]
    if tagged is not None and tagged != environment:
        mine = "names none" if environment is None else f'is "{environment}"'
        raise EnvironmentMismatch(
            f'This database is tagged for the environment "{tagged}"; the worker\'s {mine}.',
            hint=f'{_ADOPT}; else set the environment of the application to "{tagged}".',
        )
    if operating.at_home(connection, schema, environment) == "no":
        raise EnvironmentMismatch(
            "This database is not where its workers first ran: it is a copy, or it has moved.",
            hint=f"{_ADOPT}; if it has moved: emq adopt --run, and tag it, so that it may move.",
        )
