"""The ledger: its tables, verbs and views."""

from __future__ import annotations

from alembic import op

from emq_sql.integrations.alembic import downgrade_emq, upgrade_emq

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    upgrade_emq(op, from_version=0, to_version=1)


def downgrade() -> None:
    downgrade_emq(op, from_version=1, to_version=0)
