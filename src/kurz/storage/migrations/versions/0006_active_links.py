"""How many links are active: counted behind the change log, from its first row on."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    is_set = sa.text("expires_at IS NOT NULL")
    op.create_table(
        "counted_links",
        sa.Column("link_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("link_id", name="pk_counted_links"),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_counted_links_expires_at",
        "counted_links",
        ["expires_at"],
        unique=False,
        sqlite_where=is_set,
        postgresql_where=is_set,
    )
    op.create_table(
        "active_links",
        sa.Column("slot", row_id, autoincrement=False, nullable=False),
        sa.Column("links", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("slot", name="pk_active_links"),
    )
    op.create_table(
        "count_position",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("change_id", sa.BigInteger(), nullable=False),
        sa.Column("link_id", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_count_position"),
    )
    op.execute("INSERT INTO count_position (id, change_id, link_id) VALUES (1, 0, 0)")
