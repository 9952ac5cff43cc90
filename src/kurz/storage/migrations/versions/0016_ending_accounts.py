"""Deleted accounts whose links have not all ended."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.create_table(
        "ending_accounts",
        sa.Column("account_id", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("deleted_at", sa.BigInteger(), nullable=False),
        sa.Column("after_created_at", sa.BigInteger()),
        sa.Column("after_id", sa.BigInteger()),
        sa.PrimaryKeyConstraint("account_id", name="pk_ending_accounts"),
    )
