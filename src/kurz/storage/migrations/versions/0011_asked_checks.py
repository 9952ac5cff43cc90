"""Which checks of destinations somebody asked for."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column(
        "checks",
        sa.Column("is_asked", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
