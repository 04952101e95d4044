"""Jobs that are one for a key."""

from __future__ import annotations

from alembic import op

from emq_sql.integrations.alembic import downgrade_emq, upgrade_emq

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    upgrade_emq(op, from_version=7, to_version=8)


def downgrade() -> None:
    downgrade_emq(op, from_version=8, to_version=7)
