"""The same promises for less work of the server's."""

from __future__ import annotations

from alembic import op

from emq_sql.integrations.alembic import downgrade_emq, upgrade_emq

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    upgrade_emq(op, from_version=5, to_version=6)


def downgrade() -> None:
    downgrade_emq(op, from_version=6, to_version=5)
