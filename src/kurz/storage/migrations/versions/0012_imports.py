"""Who may import many links at once, and whose imports are under way."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column(
        "accounts",
        sa.Column("may_import_many", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
    op.create_table(
        "running_imports",
        sa.Column("account_id", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("holder", sa.LargeBinary(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("account_id", name="pk_running_imports"),
    )
