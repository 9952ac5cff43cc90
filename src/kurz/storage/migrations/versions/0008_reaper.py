"""What ends: indexes that the reaper finds links by, its leases and runs, codes in quarantine,
domains without their records."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

INDEXES = {
    "due": (["expires_at", "id"], "status = 'ACTIVE' AND expires_at IS NOT NULL"),
    "ended": (
        ["link_type", "expires_at", "id"],
        "status IN ('EXPIRED', 'PAUSED') AND expires_at IS NOT NULL",
    ),
    "deleted": (["deleted_at", "id"], "status = 'DELETED' AND swept_at IS NULL"),
    "swept": (["swept_at", "id"], "swept_at IS NOT NULL"),
}


def upgrade() -> None:
    op.add_column("links", sa.Column("swept_at", sa.BigInteger(), nullable=True))
    for name, (columns, words) in INDEXES.items():
        condition = sa.text(words)
        op.create_index(
            f"ix_links_{name}",
            "links",
            columns,
            unique=False,
            sqlite_where=condition,
            postgresql_where=condition,
        )
    op.create_table(
        "code_quarantine",
        sa.Column("short_code", sa.Text(), nullable=False),
        sa.Column("keeper", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("short_code", name="pk_code_quarantine"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_code_quarantine_until", "code_quarantine", ["until"], unique=False)
    op.add_column("domains", sa.Column("missing_since", sa.BigInteger(), nullable=True))
    _add_jobs()


def _add_jobs() -> None:
    row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.add_column("leases", sa.Column("ended_at", sa.BigInteger(), nullable=True))
    op.add_column("leases", sa.Column("asked_at", sa.BigInteger(), nullable=True))
    op.create_table(
        "job_runs",
        sa.Column("id", row_id, nullable=False),
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("is_asked", sa.Boolean(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("counts", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_job_runs"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_job_runs_job_started_at", "job_runs", ["job", "started_at"], unique=False)
    op.create_table(
        "job_totals",
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("successful_runs", sa.BigInteger(), nullable=False),
        sa.Column("failed_runs", sa.BigInteger(), nullable=False),
        sa.Column("run_ms", sa.BigInteger(), nullable=False),
        sa.Column("cleaned", sa.BigInteger(), nullable=False),
        sa.Column("last_batch", sa.BigInteger(), nullable=False),
        sa.Column("last_ended_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("job", name="pk_job_totals"),
    )
    op.create_table(
        "archive_files",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("links", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("name", name="pk_archive_files"),
    )
