"""The ledger's schema inside an application's own Alembic history.

In a revision of yours, which `emq alembic revision` writes, with numbers that nobody changes
afterwards:

    from emq_sql.integrations.alembic import downgrade_emq, upgrade_emq

    def upgrade() -> None:
        upgrade_emq(op, from_version=0, to_version=2)

    def downgrade() -> None:
        downgrade_emq(op, from_version=2, to_version=0)

and in env.py, for replicas that all migrate when they start, and for include_schemas=True:

    with one_at_a_time(connection):
        context.configure(..., include_schemas=True, include_name=include_name())
        with context.begin_transaction():
            context.run_migrations()
"""

from __future__ import annotations

from emq_sql.integrations.alembic.filtering import include_name
from emq_sql.integrations.alembic.operations import downgrade_emq, upgrade_emq
from emq_sql.integrations.alembic.turns import one_at_a_time

__all__ = ["downgrade_emq", "include_name", "one_at_a_time", "upgrade_emq"]
