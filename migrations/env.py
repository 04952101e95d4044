"""Alembic's environment for the ledger alone; its version table is its own.

The database is `-x dsn=...`, else EMQ_DSN; with `--sql` none is needed.
"""

from __future__ import annotations

import os

from alembic import context

from emq_sql.errors import BadSetting
from emq_sql.integrations.alembic import one_at_a_time
from emq_sql.protocol import connecting

VERSION_TABLE = "emq_alembic_version"


def offline() -> None:
    """Print the SQL."""
    context.configure(dialect_name="postgresql", version_table=VERSION_TABLE)
    with context.begin_transaction():
        context.run_migrations()


def online() -> None:
    """Run the revisions in one transaction, and one process at a time."""
    dsn = context.get_x_argument(as_dictionary=True).get("dsn") or os.environ.get("EMQ_DSN")
    if not dsn:
        raise BadSetting("No database is set.", hint="Give -x dsn=postgresql://... or set EMQ_DSN.")
    with connecting.engine_for(str(dsn)).connect() as connection, one_at_a_time(connection):
        context.configure(connection=connection, version_table=VERSION_TABLE)
        with context.begin_transaction():
            context.run_migrations()


if context.is_offline_mode():
    offline()
else:
    online()
