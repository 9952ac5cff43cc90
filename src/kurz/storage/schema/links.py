"""The tables, once for both engines. Instants are whole microseconds since 1970, UTC."""

from typing import Any

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

NEVER = 2**63 - 1  # stands for "no expiry" where instants are compared


def where(condition: str) -> dict[str, Any]:
    """The condition of a partial index, for both engines."""
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


# Links that nobody owns are in nobody's list: they need no index for it.
OWNED = where("space <> 0")
CARRIED = ("status", "expires_at", "owner_id")

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
    # Whose list it is in: the workspace's id, minus the owner's id for a personal link, 0 for one
    # that nobody owns. Every index of a list starts with it.
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
    sa.Column("redirect_count", sa.BigInteger, nullable=False),
    sa.Column("avg_redirect_ms", sa.Double),
    sa.Column("redirect_ms_m2", sa.Double),  # Welford's sum of squared differences
    sa.Column("destination_status", sa.Text),  # by `destinations`, as is what follows
    sa.Column("destination_http_status", sa.Integer),
    sa.Column("last_checked_at", sa.BigInteger),
    sa.Column("claim_hash", sa.LargeBinary),
    # When the reaper moved it to the trash; NULL where its owner did.
    sa.Column("swept_at", sa.BigInteger),
    # Since when visitors are warned, because the lists could not be asked; NULL: they are not.
    sa.Column("held_at", sa.BigInteger),
    sa.UniqueConstraint("workspace_id", "short_code"),
    sa.Index(
        "uq_links_deterministic",
        "workspace_id",
        "canonical_hash",
        unique=True,
        **where("canonical_hash IS NOT NULL"),
    ),
    # A claim that is repeated finds what it made before.
    sa.Index(
        "uq_links_claim",
        "space",
        "claim_hash",
        unique=True,
        **where("space <> 0 AND claim_hash IS NOT NULL"),
    ),
    # Lists: each order has an index, and each filter one that counts what fits. Behind its key an
    # index carries what filters ask for, so that the links themselves need not be read: that costs
    # a create 1 µs, and takes 14 ms off the count of 10,000.
    sa.Index("ix_links_created", "space", "created_at", "id", *CARRIED, **OWNED),
    # Going to the trash is an update: its links would lie at the top, to be passed one by one.
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
    sa.Index("ix_links_held", "id", **where("held_at IS NOT NULL AND status <> 'BANNED'")),
    # The reaper's: each has what one of its steps looks for, and nothing else.
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
)

# The tags of links again, one a row: what a list is filtered by. The trash stands apart, so that
# links that live are counted without being read.
link_tags = sa.Table(
    "link_tags",
    metadata,
    sa.Column("space", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("tag", sa.Text, primary_key=True),
    sa.Column("in_trash", sa.Boolean, primary_key=True, autoincrement=False),
    sa.Column("link_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Index("ix_link_tags_link_id", "link_id"),
    sqlite_with_rowid=False,
)

# What was changed in a link, by whom: `changes` is a JSON object, field → [before, after].
history = sa.Table(
    "history",
    metadata,
    sa.Column("link_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("version", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("changed_at", sa.BigInteger, nullable=False),
    sa.Column("account_id", sa.BigInteger),  # NULL: the operator, on the command line
    sa.Column("act", sa.Text, nullable=False),
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
)

accounts = sa.Table(
    "accounts",
    metadata,
    # Random, so that it does not tell how many there are.
    sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("email", sa.Text, nullable=False, unique=True),  # normalised
    sa.Column("password_hash", sa.Text, nullable=False),
    sa.Column("is_admin", sa.Boolean, nullable=False),
    # Tokens carry it: a higher number here ends every token from before.
    sa.Column("epoch", sa.BigInteger, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("signed_in_at", sa.BigInteger),
    sa.Column("disabled_at", sa.BigInteger),
    sa.Column("links_per_month", sa.BigInteger),  # NULL: the server's default; -1: unlimited
    sa.Column("may_import_many", sa.Boolean, nullable=False, server_default=sa.false()),
)

# Tokens that were signed out, until they would have ended anyway.
ended_tokens = sa.Table(
    "ended_tokens",
    metadata,
    sa.Column("token_id", sa.Text, primary_key=True),
    sa.Column("expires_at", sa.BigInteger, nullable=False, index=True),
)

keys = sa.Table(
    "keys",
    metadata,
    sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("account_id", sa.BigInteger, nullable=False, index=True),
    sa.Column("workspace_id", sa.BigInteger),  # NULL: all that its person may
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("prefix", sa.Text, nullable=False, unique=True),  # the part that may be shown
    sa.Column("secret_hash", sa.LargeBinary, nullable=False),
    sa.Column("scopes", sa.Text, nullable=False),  # separated by spaces
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger),
    sa.Column("last_used_at", sa.BigInteger),
)

# Links that work once: set-up of the first administrator, a new password, an invitation.
passes = sa.Table(
    "passes",
    metadata,
    sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("token_hash", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("purpose", sa.Text, nullable=False),
    sa.Column("account_id", sa.BigInteger),  # whose password
    sa.Column("workspace_id", sa.BigInteger, index=True),  # invited into
    sa.Column("role", sa.Text),
    sa.Column("created_by", sa.BigInteger),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
)

workspaces = sa.Table(
    "workspaces",
    metadata,
    sa.Column("id", RowId, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("slug", sa.Text, nullable=False),
    sa.Column("root_url", sa.Text),  # where `/` of its domains leads
    sa.Column("strategy", sa.Text, nullable=False, server_default="deterministic"),
    sa.Column("default_expiry_days", sa.Integer),  # NULL: as the installation's setting says
    sa.Column("links_per_month", sa.BigInteger),  # NULL: unlimited
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("deleted_at", sa.BigInteger),  # it can be restored for a while
    sqlite_autoincrement=True,
)

# Every slug a workspace ever had: an old one goes on answering.
workspace_slugs = sa.Table(
    "workspace_slugs",
    metadata,
    sa.Column("slug", sa.Text, primary_key=True),
    sa.Column("workspace_id", sa.BigInteger, nullable=False),
)

members = sa.Table(
    "members",
    metadata,
    sa.Column("workspace_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("account_id", sa.BigInteger, primary_key=True, autoincrement=False, index=True),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
)

# Anybody may name any domain; only one workspace can prove that it is theirs.
domains = sa.Table(
    "domains",
    metadata,
    sa.Column("host", sa.Text, primary_key=True),
    sa.Column("workspace_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("checked_at", sa.BigInteger),
    sa.Column("verified_at", sa.BigInteger),  # NULL: it serves nothing yet
    sa.Column("removed_at", sa.BigInteger),  # given up: no other gets it for a while
    sa.Column("missing_since", sa.BigInteger),  # the record of one that was verified
    sa.Index(
        "uq_domains_verified",
        "host",
        unique=True,
        **where("verified_at IS NOT NULL AND removed_at IS NULL"),
    ),
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

# Rate limits for several workers without Redis: when the next request is due (GCRA).
limits = sa.Table(
    "limits",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("due_at", sa.BigInteger, nullable=False, index=True),
)

# What this installation made for itself once and keeps for ever, such as the permutations' keys.
installation = sa.Table(
    "installation",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.LargeBinary, nullable=False),
)

# What visitors are hashed with, one a day; erased 48 hours after the day began.
visitor_salts = sa.Table(
    "visitor_salts",
    metadata,
    sa.Column("day", sa.Date, primary_key=True),
    sa.Column("salt", sa.LargeBinary, nullable=False),
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

# How many of them end in each stretch of time, as `storage/active_links` divides it.
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
