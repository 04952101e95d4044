"""What workers lean on: keep, stall, and the bell that rings only for who is parked."""

from __future__ import annotations

from alembic import op

from emq_sql.integrations.alembic import downgrade_emq, upgrade_emq

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    upgrade_emq(op, from_version=2, to_version=3)


def downgrade() -> None:
    downgrade_emq(op, from_version=3, to_version=2)
