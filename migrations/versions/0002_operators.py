"""The operators' verbs: cancel, discard, replay and retire."""

from __future__ import annotations

from alembic import op

from emq_sql.integrations.alembic import downgrade_emq, upgrade_emq

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    upgrade_emq(op, from_version=1, to_version=2)


def downgrade() -> None:
    downgrade_emq(op, from_version=2, to_version=1)
