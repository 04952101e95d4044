"""Recovery with one policy, dead letters to work with, an archive to ask and to export."""

from __future__ import annotations

from alembic import op

from emq_sql.integrations.alembic import downgrade_emq, upgrade_emq

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    upgrade_emq(op, from_version=3, to_version=4)


def downgrade() -> None:
    downgrade_emq(op, from_version=4, to_version=3)
