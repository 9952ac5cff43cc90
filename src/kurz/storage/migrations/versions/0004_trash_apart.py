"""Links in the trash stand apart from those that live: by tag, and in the order of updates."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    _rebuild_link_tags()
    _split_order_of_updates()


def _rebuild_link_tags() -> None:
    """The column goes into the middle of the key. The rows wait elsewhere, so that the new table
    and its key can have the names of the old ones at once."""
    op.execute("CREATE TABLE old_link_tags AS SELECT space, tag, link_id FROM link_tags")
    op.drop_table("link_tags")
    op.create_table(
        "link_tags",
        sa.Column("space", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("tag", sa.Text(), nullable=False),
        sa.Column("in_trash", sa.Boolean(), autoincrement=False, nullable=False),
        sa.Column("link_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("space", "tag", "in_trash", "link_id", name="pk_link_tags"),
        sqlite_with_rowid=False,
    )
    op.execute(
        "INSERT INTO link_tags (space, tag, in_trash, link_id)"
        " SELECT old.space, old.tag, links.status = 'DELETED', old.link_id"
        " FROM old_link_tags AS old JOIN links ON links.id = old.link_id ORDER BY 1, 2, 3, 4"
    )
    op.drop_table("old_link_tags")
    op.create_index("ix_link_tags_link_id", "link_tags", ["link_id"], unique=False)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ANALYZE link_tags")  # else it would plan as for an empty table for a while


def _split_order_of_updates() -> None:
    columns = ["space", "updated_at", "id", "status", "expires_at", "owner_id", "created_at"]
    op.drop_index("ix_links_updated", "links")
    for name, sign in ("updated", "<>"), ("trash", "="):
        condition = sa.text(f"space <> 0 AND status {sign} 'DELETED'")
        half: dict[str, Any] = {"sqlite_where": condition, "postgresql_where": condition}
        op.create_index(f"ix_links_{name}", "links", columns, **half)
