"""Who lost a job can commit nothing for it: the guard, refusals told whole, the inbox."""

from __future__ import annotations

from alembic import op

from emq_sql.integrations.alembic import downgrade_emq, upgrade_emq

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    upgrade_emq(op, from_version=4, to_version=5)


def downgrade() -> None:
    downgrade_emq(op, from_version=5, to_version=4)
