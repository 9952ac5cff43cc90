"""Months of subjects with many clicks, added up."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "click_months",
        sa.Column("kind", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("subject", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("first_day", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("clicks", sa.BigInteger(), nullable=False),
        sa.Column("counts", sa.LargeBinary(), nullable=False),
        sa.Column("hours", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "subject", "first_day", name="pk_click_months"),
    )
