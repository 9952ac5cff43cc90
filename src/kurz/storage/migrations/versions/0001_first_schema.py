"""The first schema: links, their change log, workspaces, domains, leases, keys and counters."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

RowId = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "changes",
        sa.Column("id", RowId, nullable=False),
        sa.Column("link_id", sa.BigInteger(), nullable=False),
        sa.Column("workspace_id", sa.BigInteger(), nullable=False),
        sa.Column("short_code", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_changes"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "counters",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("next_value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_counters"),
    )
    op.create_table(
        "domains",
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("workspace_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("verified_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("host", name="pk_domains"),
    )
    op.create_table(
        "installation",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_installation"),
    )
    op.create_table(
        "leases",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("taken_at", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_leases"),
    )
    op.create_table(
        "links",
        sa.Column("id", RowId, nullable=False),
        sa.Column("workspace_id", sa.BigInteger(), nullable=False),
        sa.Column("short_code", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("strategy", sa.Text(), nullable=False),
        sa.Column("original_url", sa.Text(), nullable=False),
        sa.Column("canonical_url", sa.Text(), nullable=False),
        sa.Column("canonical_hash", sa.LargeBinary(), nullable=True),
        sa.Column("location", sa.Text(), nullable=True),
        sa.Column("owner_id", sa.BigInteger(), nullable=True),
        sa.Column("link_type", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("starts_at", sa.BigInteger(), nullable=True),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("deleted_at", sa.BigInteger(), nullable=True),
        sa.Column("redirect_status", sa.SmallInteger(), nullable=False),
        sa.Column("title", sa.Text(), nullable=True),
        sa.Column("tags", sa.Text(), nullable=True),
        sa.Column("notes", sa.Text(), nullable=True),
        sa.Column("forward_query", sa.Boolean(), nullable=False),
        sa.Column("max_clicks", sa.BigInteger(), nullable=True),
        sa.Column("clicks_used", sa.BigInteger(), nullable=False),
        sa.Column("redirect_count", sa.BigInteger(), nullable=False),
        sa.Column("avg_redirect_ms", sa.Double(), nullable=True),
        sa.Column("redirect_ms_m2", sa.Double(), nullable=True),
        sa.Column("destination_status", sa.Integer(), nullable=True),
        sa.Column("last_checked_at", sa.BigInteger(), nullable=True),
        sa.Column("claim_hash", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_links"),
        sa.UniqueConstraint("workspace_id", "short_code", name="uq_links_workspace_id_short_code"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "uq_links_deterministic",
        "links",
        ["workspace_id", "canonical_hash"],
        unique=True,
        sqlite_where=sa.text("canonical_hash IS NOT NULL"),
        postgresql_where=sa.text("canonical_hash IS NOT NULL"),
    )
    op.create_table(
        "workspace_slugs",
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("workspace_id", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("slug", name="pk_workspace_slugs"),
    )
    op.create_table(
        "workspaces",
        sa.Column("id", RowId, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("root_url", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_workspaces"),
        sqlite_autoincrement=True,
    )
