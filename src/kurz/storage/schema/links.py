"""The tables of links, and of what is counted and stored about them."""

import sqlalchemy as sa

from kurz.storage.schema.base import (
    COUNTED_IN_INDEXES,
    NEVER,
    VACUUMED_EARLY,
    RowId,
    metadata,
    where,
)

# Links without an owner are in no list: they need no index for lists.
OWNED = where("space <> 0")
CARRIED = ("status", "expires_at", "owner_id")

links = sa.Table(
    "links",
    metadata,
    sa.Column("id", RowId, primary_key=True),
    # 0 is the root, which has no row in `workspaces`: hence no foreign key.
    sa.Column("workspace_id", sa.BigInteger, nullable=False),
    sa.Column("short_code", sa.Text, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("strategy", sa.Text, nullable=False),
    sa.Column("original_url", sa.Text, nullable=False),
    sa.Column("canonical_url", sa.Text, nullable=False),
    # SHA-256 of canonical_url, for deterministic links only: a long URL does not fit an index.
    sa.Column("canonical_hash", sa.LargeBinary),
    # NULL where the redirect's Location equals original_url, which is usual.
    sa.Column("location", sa.Text),
    sa.Column("owner_id", sa.BigInteger),
    # Whose list it is in: the workspace's id, minus the owner's id for a personal link, 0 for a
    # link without an owner. Every index of a list starts with it.
    sa.Column("space", sa.BigInteger, nullable=False, server_default="0"),
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
    # A copy of `click_totals` for sorting long lists, which may be behind, as in
    # `storage/followers/click_count_copier`.
    sa.Column("redirect_count", sa.BigInteger, nullable=False),
    sa.Column("avg_redirect_ms", sa.Double),
    sa.Column("redirect_ms_m2", sa.Double),  # Welford's sum of squared differences
    sa.Column("destination_status", sa.Text),  # written by the checks, like the next columns
    sa.Column("destination_http_status", sa.Integer),
    sa.Column("last_checked_at", sa.BigInteger),
    sa.Column("claim_hash", sa.LargeBinary),
    # When the reaper moved it to the trash; NULL where its owner did.
    sa.Column("swept_at", sa.BigInteger),
    # Since when visitors are warned, because the link could not be screened; NULL: they are not.
    sa.Column("held_at", sa.BigInteger),
    # Of where its code leads (`links/checksums`). NULL: written by a version without checksums, and
    # not looked through yet. A trigger removes it if such a version changes where the code leads.
    sa.Column("checksum", sa.LargeBinary),
    sa.UniqueConstraint("workspace_id", "short_code"),
    sa.Index(
        "uq_links_deterministic",
        "workspace_id",
        "canonical_hash",
        unique=True,
        **where("canonical_hash IS NOT NULL"),
    ),
    # A repeated claim finds its earlier result.
    sa.Index(
        "uq_links_claim",
        "space",
        "claim_hash",
        unique=True,
        **where("space <> 0 AND claim_hash IS NOT NULL"),
    ),
    # Lists: each order has an index, and each filter one that counts the matches. After its key an
    # index carries the columns that filters need, so that the links themselves are not read. That
    # costs a create 1 µs, and saves 14 ms when counting 10,000.
    sa.Index("ix_links_created", "space", "created_at", "id", *CARRIED, **OWNED),
    # Moving to the trash is an update: those links would be at the top, to be skipped one by one.
    sa.Index(
        "ix_links_updated",
        "space",
        "updated_at",
        "id",
        *CARRIED,
        "created_at",
        **where("space <> 0 AND status <> 'DELETED'"),
    ),
    sa.Index(
        "ix_links_trash",
        "space",
        "updated_at",
        "id",
        *CARRIED,
        "created_at",
        **where("space <> 0 AND status = 'DELETED'"),
    ),
    sa.Index("ix_links_clicks", "space", "redirect_count", "id", *CARRIED, "created_at", **OWNED),
    sa.Index(
        "ix_links_expiry",
        "space",
        sa.text(f"coalesce(expires_at, {NEVER})"),
        "id",
        *CARRIED,
        "created_at",
        **OWNED,
    ),
    sa.Index(
        "ix_links_owner",
        "space",
        "owner_id",
        "created_at",
        "id",
        "status",
        "expires_at",
        **where("space > 0"),
    ),
    sa.Index(
        "ix_links_state",
        "space",
        "status",
        "created_at",
        "id",
        "expires_at",
        "owner_id",
        **where("space <> 0 AND status IN ('DELETED', 'PAUSED', 'BANNED')"),
    ),
    sa.Index(
        "ix_links_exhausted",
        "space",
        "created_at",
        "id",
        *CARRIED,
        **where("space <> 0 AND clicks_used >= max_clicks"),
    ),
    sa.Index(
        "ix_links_checked",
        "space",
        "destination_status",
        "created_at",
        "id",
        *CARRIED,
        **where("space <> 0 AND destination_status IS NOT NULL"),
    ),
    # The operator's lists of all links, whether they are in a space or not.
    sa.Index("ix_links_newest", "created_at", "id"),
    sa.Index("ix_links_all_trash", "updated_at", "id", **where("status = 'DELETED'")),
    sa.Index("ix_links_held", "id", **where("held_at IS NOT NULL AND status <> 'BANNED'")),
    sa.Index("ix_links_without_checksum", "id", **where("checksum IS NULL")),
    # For the reaper: each holds only what one of its steps looks for.
    sa.Index(
        "ix_links_due",
        "expires_at",
        "id",
        **where("status = 'ACTIVE' AND expires_at IS NOT NULL"),
    ),
    sa.Index(
        "ix_links_ended",
        "link_type",
        "expires_at",
        "id",
        **where("status IN ('EXPIRED', 'PAUSED') AND expires_at IS NOT NULL"),
    ),
    sa.Index(
        "ix_links_deleted",
        "deleted_at",
        "id",
        **where("status = 'DELETED' AND swept_at IS NULL"),
    ),
    sa.Index("ix_links_swept", "swept_at", "id", **where("swept_at IS NOT NULL")),
    sqlite_autoincrement=True,
    postgresql_with=COUNTED_IN_INDEXES,
)
# Where a link leads.
LOCATION = sa.func.coalesce(links.c.location, links.c.original_url)

# The tags of links again, one per row, for filtering lists. The trash is kept apart, so that other
# links are counted without being read.
link_tags = sa.Table(
    "link_tags",
    metadata,
    sa.Column("space", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("tag", sa.Text, primary_key=True),
    sa.Column("in_trash", sa.Boolean, primary_key=True, autoincrement=False),
    sa.Column("link_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Index("ix_link_tags_link_id", "link_id"),
    sqlite_with_rowid=False,
    postgresql_with=COUNTED_IN_INDEXES,
)

# What was changed in a link, by whom: `changes` is a JSON object, field → [before, after].
history = sa.Table(
    "history",
    metadata,
    sa.Column("link_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("version", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("changed_at", sa.BigInteger, nullable=False),
    sa.Column("account_id", sa.BigInteger),  # NULL: the operator, on the command line
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("changes", sa.Text, nullable=False),
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
    # The trimmer deletes 1,000 rows at a time.
    postgresql_with=VACUUMED_EARLY | {"autovacuum_vacuum_threshold": 1000},
)

# Links made by an account or in a workspace, by month (202611); only where there is a quota.
usage = sa.Table(
    "usage",
    metadata,
    sa.Column("subject", sa.Text, primary_key=True),
    sa.Column("month", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("links", sa.BigInteger, nullable=False),
)

# Answers to requests with an Idempotency-Key, sealed; kept a day.
receipts = sa.Table(
    "receipts",
    metadata,
    sa.Column("caller", sa.Text, primary_key=True),
    sa.Column("key_hash", sa.LargeBinary, primary_key=True),
    sa.Column("fingerprint", sa.LargeBinary, nullable=False),
    sa.Column("answer", sa.LargeBinary, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False, index=True),
)

# What this installation created once and keeps permanently, such as the permutations' keys.
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

# How far the change log has been taken into `link_search`, on SQLite.
search_position = sa.Table(
    "search_position",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("change_id", sa.BigInteger, nullable=False),
)

# Links that were active when they were last counted, and when they end: NULL is never.
counted_links = sa.Table(
    "counted_links",
    metadata,
    sa.Column("link_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("expires_at", sa.BigInteger),
    sa.Index("ix_counted_links_expires_at", "expires_at", **where("expires_at IS NOT NULL")),
    sqlite_with_rowid=False,
)

# How many of them end in each stretch of time, as `storage/links/active` divides it.
active_links = sa.Table(
    "active_links",
    metadata,
    sa.Column("slot", RowId, primary_key=True, autoincrement=False),
    sa.Column("links", sa.BigInteger, nullable=False),
)

# How far links are counted: the change log up to a row, and before that each link once, by its id.
count_position = sa.Table(
    "count_position",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("change_id", sa.BigInteger, nullable=False),
    sa.Column("link_id", sa.BigInteger, nullable=False),
)
