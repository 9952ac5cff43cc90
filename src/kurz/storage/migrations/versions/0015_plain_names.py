"""Tables and columns have the names that the program uses."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    # SQLite cannot rename constraints: the few rows are copied.
    op.create_table(
        "one_time_tokens",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("token_hash", sa.LargeBinary(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=True),
        sa.Column("workspace_id", sa.BigInteger(), nullable=True),
        sa.Column("role", sa.Text(), nullable=True),
        sa.Column("created_by", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_one_time_tokens"),
        sa.UniqueConstraint("token_hash", name="uq_one_time_tokens_token_hash"),
    )
    names = "id, token_hash, purpose, account_id, workspace_id, role, created_by"
    names += ", created_at, expires_at"
    op.execute(f"INSERT INTO one_time_tokens ({names}) SELECT {names} FROM passes")  # noqa: S608
    op.drop_table("passes")
    op.create_index("ix_one_time_tokens_workspace_id", "one_time_tokens", ["workspace_id"])
    op.execute("ALTER TABLE code_quarantine RENAME COLUMN keeper TO reserved_for")
