"""An index that finds links by their URL, in the space whose list they are in.

On PostgreSQL, it contains an expression, not a column with the hash: no code has to write it, and
instances of the previous version keep it up to date, too. SQLite has no hash function, but accepts
keys of any length."""

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
