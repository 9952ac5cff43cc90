"""The tables, once for both engines. Instants are whole microseconds since 1970, UTC."""

import sqlalchemy as sa

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite gives out row numbers only for a column declared INTEGER, and needs AUTOINCREMENT
# (`sqlite_autoincrement`) to never give the same one twice.
RowId = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

links = sa.Table(
    "links",
    metadata,
    sa.Column("id", RowId, primary_key=True),
    # 0 is the root, which is no row of `workspaces`: hence no foreign key.
    sa.Column("workspace_id", sa.BigInteger, nullable=False),
    sa.Column("short_code", sa.Text, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("strategy", sa.Text, nullable=False),
    sa.Column("original_url", sa.Text, nullable=False),
    sa.Column("canonical_url", sa.Text, nullable=False),
    # SHA-256 of canonical_url, for deterministic links only: a long URL does not fit an index.
    sa.Column("canonical_hash", sa.LargeBinary),
    # NULL where the redirect's Location is original_url to the letter, which it mostly is.
    sa.Column("location", sa.Text),
    sa.Column("owner_id", sa.BigInteger),
    sa.Column("link_type", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.Column("starts_at", sa.BigInteger),
    sa.Column("expires_at", sa.BigInteger),
    sa.Column("deleted_at", sa.BigInteger),
    sa.Column("redirect_status", sa.SmallInteger, nullable=False),
    sa.Column("title", sa.Text),
    sa.Column("tags", sa.Text),  # a JSON array, NULL for none
    sa.Column("notes", sa.Text),
    sa.Column("forward_query", sa.Boolean, nullable=False),
    sa.Column("max_clicks", sa.BigInteger),
    sa.Column("clicks_used", sa.BigInteger, nullable=False),
    sa.Column("redirect_count", sa.BigInteger, nullable=False),
    sa.Column("avg_redirect_ms", sa.Double),
    sa.Column("redirect_ms_m2", sa.Double),  # Welford's sum of squared differences
    sa.Column("destination_status", sa.Integer),
    sa.Column("last_checked_at", sa.BigInteger),
    sa.Column("claim_hash", sa.LargeBinary),
    sa.UniqueConstraint("workspace_id", "short_code"),
    sa.Index(
        "uq_links_deterministic",
        "workspace_id",
        "canonical_hash",
        unique=True,
        sqlite_where=sa.text("canonical_hash IS NOT NULL"),
        postgresql_where=sa.text("canonical_hash IS NOT NULL"),
    ),
    sqlite_autoincrement=True,
)

# One row per write of a link, in the transaction of that write; what caches follow.
changes = sa.Table(
    "changes",
    metadata,
    sa.Column("id", RowId, primary_key=True),
    sa.Column("link_id", sa.BigInteger, nullable=False),
    sa.Column("workspace_id", sa.BigInteger, nullable=False),
    sa.Column("short_code", sa.Text, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("changed_at", sa.BigInteger, nullable=False),
    sqlite_autoincrement=True,
)

workspaces = sa.Table(
    "workspaces",
    metadata,
    sa.Column("id", RowId, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("slug", sa.Text, nullable=False),
    sa.Column("root_url", sa.Text),  # where `/` of its domains leads
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sqlite_autoincrement=True,
)

# Every slug a workspace ever had: an old one goes on answering.
workspace_slugs = sa.Table(
    "workspace_slugs",
    metadata,
    sa.Column("slug", sa.Text, primary_key=True),
    sa.Column("workspace_id", sa.BigInteger, nullable=False),
)

domains = sa.Table(
    "domains",
    metadata,
    sa.Column("host", sa.Text, primary_key=True),
    sa.Column("workspace_id", sa.BigInteger, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("verified_at", sa.BigInteger),  # NULL: it serves nothing yet
)

# One row per scheduled job; the holder's lease ends by the database's clock.
leases = sa.Table(
    "leases",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("holder", sa.Text, nullable=False),
    sa.Column("taken_at", sa.BigInteger, nullable=False),
    sa.Column("until", sa.BigInteger, nullable=False),
)

# What this installation made for itself once and keeps for ever, such as the permutations' keys.
installation = sa.Table(
    "installation",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.LargeBinary, nullable=False),
)

counters = sa.Table(
    "counters",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("next_value", sa.BigInteger, nullable=False),
)
