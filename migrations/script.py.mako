"""${message}"""

from __future__ import annotations

from alembic import op

from emq_sql.integrations.alembic import downgrade_emq, upgrade_emq

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    upgrade_emq(op, from_version=${int(down_revision or 0)}, to_version=${int(down_revision or 0) + 1})


def downgrade() -> None:
    downgrade_emq(op, from_version=${int(down_revision or 0) + 1}, to_version=${int(down_revision or 0)})
