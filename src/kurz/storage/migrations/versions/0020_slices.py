"""Batches of clicks that are partly counted."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    for name in ("slices_end", "counted_link", "stored_events"):
        op.add_column("journal_position", sa.Column(name, sa.BigInteger()))
