"""Old days of clicks can be folded into months. It rewrites no table."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    op.add_column("click_days", sa.Column("month", sa.LargeBinary()))
    op.create_table(
        "fold_position",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("since", sa.Integer(), nullable=False),
        sa.Column("before", sa.Integer(), nullable=False),
        sa.Column("kind", sa.SmallInteger()),
        sa.Column("subject", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_fold_position"),
    )
