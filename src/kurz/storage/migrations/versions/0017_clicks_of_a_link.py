"""An index of clicks by link, so that an export reads no others."""

from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.create_index("ix_click_events_link", "click_events", ["day", "link_id", "id"], unique=False)
