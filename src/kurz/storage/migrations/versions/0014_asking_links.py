"""Which links somebody asked to check."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.add_column("link_destinations", sa.Column("asked_at", sa.BigInteger()))
