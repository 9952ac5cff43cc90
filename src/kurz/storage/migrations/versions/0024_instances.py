"""Which instances use the database, in which version."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
works_with = "0023"


def upgrade() -> None:
    op.create_table(
        "instances",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("schema", sa.Text(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_instances"),
    )
