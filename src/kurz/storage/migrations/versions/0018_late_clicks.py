"""Which sums of months must be added up again."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.create_table(
        "late_clicks",
        sa.Column("kind", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("subject", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("times", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "subject", name="pk_late_clicks"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "month_position",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("before", sa.Integer(), nullable=False),
        sa.Column("kind", sa.SmallInteger()),
        sa.Column("subject", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_month_position"),
    )
