"""An index that finds links without a checksum. It is empty when all have one."""

from kurz.storage.migrations.online import build_index

revision = "0026"
down_revision = "0025"
works_with = "0023"


def upgrade() -> None:
    build_index("ix_links_without_checksum", "links", ["id"], where="checksum IS NULL")
