"""A batch of one task costs less than jobs one by one."""

from __future__ import annotations

from alembic import op

from emq_sql.integrations.alembic import downgrade_emq, upgrade_emq

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    upgrade_emq(op, from_version=6, to_version=7)


def downgrade() -> None:
    downgrade_emq(op, from_version=7, to_version=6)
