"""The schema of the tests: the steps as they are, or with one clause changed."""

from __future__ import annotations

import os
from typing import Any

import psycopg

from emq_sql.protocol import steps
from tests.mutants.rendering import install
from tests.mutants.table import BY_NAME

VARIABLE = "EMQ_SQL_TEST_MUTANT"


def install_schema(conn: psycopg.Connection[Any]) -> None:
    """Apply the steps; as the mutant that EMQ_SQL_TEST_MUTANT names, if it names one."""
    if name := os.environ.get(VARIABLE):
        with conn.transaction():
            install(conn, *BY_NAME[name].changes)
    else:
        steps.upgrade(conn, schema="emq")
