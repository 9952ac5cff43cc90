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
    for table, old, new in _COLUMNS:
        op.execute(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}")
    _rename_index()


_COLUMNS = (
    ("code_quarantine", "keeper", "reserved_for"),
    ("history", "act", "action"),
    ("audit", "act", "action"),
    ("leases", "asked_at", "requested_at"),
    ("job_runs", "is_asked", "is_requested"),
    ("checks", "is_asked", "is_requested"),
    ("destinations", "asked_at", "requested_at"),
    ("link_destinations", "asked_at", "requested_at"),
)


def _rename_index() -> None:
    """SQLite cannot rename an index. Few destinations wait for a requested check."""
    old, new = "ix_destinations_asked_at", "ix_destinations_requested_at"
    if op.get_context().dialect.name != "sqlite":
        op.execute(f"ALTER INDEX {old} RENAME TO {new}")
        return
    op.drop_index(old)
    op.create_index(
        new,
        "destinations",
        ["requested_at", "id", "site"],
        sqlite_where=sa.text("requested_at IS NOT NULL"),
    )
