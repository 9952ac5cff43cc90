"""An index that finds links by their URL, in the space whose list they are in.

An expression, not a column with the hash: nothing has to write it, and instances of the version
before keep it up to date, too. SQLite has no function for a hash, but keys of any length."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    is_postgres = op.get_bind().dialect.name == "postgresql"
    url = "hashtextextended(canonical_url, 0)" if is_postgres else "canonical_url"
    condition = sa.text("space <> 0")
    op.create_index(
        "ix_links_url",
        "links",
        ["space", sa.text(url)],
        sqlite_where=condition,
        postgresql_where=condition,
    )
