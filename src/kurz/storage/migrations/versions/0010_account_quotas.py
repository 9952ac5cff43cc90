"""Quotas of single accounts."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("accounts", sa.Column("links_per_month", sa.BigInteger()))
