"""Indexes for the operator's lists of all links and of all trash."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.create_index("ix_links_newest", "links", ["created_at", "id"])
    trash = sa.text("status = 'DELETED'")
    op.create_index(
        "ix_links_all_trash",
        "links",
        ["updated_at", "id"],
        sqlite_where=trash,
        postgresql_where=trash,
    )
