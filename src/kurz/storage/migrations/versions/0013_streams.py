"""Which streams of live numbers are open."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.create_table(
        "running_streams",
        sa.Column("account_id", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("slot", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("holder", sa.LargeBinary(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("account_id", "slot", name="pk_running_streams"),
    )
