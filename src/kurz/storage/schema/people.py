"""The tables of accounts, workspaces and their domains, and of rate limits."""

import sqlalchemy as sa

from kurz.storage.schema.base import RowId, metadata, where

accounts = sa.Table(
    "accounts",
    metadata,
    # Random, so that it does not reveal how many there are.
    sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("email", sa.Text, nullable=False, unique=True),  # normalised
    sa.Column("password_hash", sa.Text, nullable=False),
    sa.Column("is_admin", sa.Boolean, nullable=False),
    # Tokens carry it: a higher number here ends every earlier token.
    sa.Column("epoch", sa.BigInteger, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("signed_in_at", sa.BigInteger),
    sa.Column("disabled_at", sa.BigInteger),
    sa.Column("links_per_month", sa.BigInteger),  # NULL: the server's default; -1: unlimited
    sa.Column("may_import_many", sa.Boolean, nullable=False, server_default=sa.false()),
)

# Deleted accounts whose links have not all ended. Until then, this row hides the personal links
# from visitors. `after_…` is the last link that the job has seen, in the order of age; NULL: none.
ending_accounts = sa.Table(
    "ending_accounts",
    metadata,
    sa.Column("account_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("deleted_at", sa.BigInteger, nullable=False),
    sa.Column("after_created_at", sa.BigInteger),
    sa.Column("after_id", sa.BigInteger),
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
    sa.Column("workspace_id", sa.BigInteger),  # NULL: everything that its person may access
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("prefix", sa.Text, nullable=False, unique=True),  # the part that may be shown
    sa.Column("secret_hash", sa.LargeBinary, nullable=False),
    sa.Column("scopes", sa.Text, nullable=False),  # separated by spaces
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger),
    sa.Column("last_used_at", sa.BigInteger),
)

# Links that work once: set-up of the first administrator, a new password, an invitation.
one_time_tokens = sa.Table(
    "one_time_tokens",
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
    sa.Column("default_expiry_days", sa.Integer),  # NULL: the installation's setting
    sa.Column("links_per_month", sa.BigInteger),  # NULL: unlimited
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("deleted_at", sa.BigInteger),  # it can be restored for a while
    sqlite_autoincrement=True,
)

# Every slug a workspace ever had: old ones still work.
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

# Any workspace may add any domain; only one can prove that it is theirs.
domains = sa.Table(
    "domains",
    metadata,
    sa.Column("host", sa.Text, primary_key=True),
    sa.Column("workspace_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("checked_at", sa.BigInteger),
    sa.Column("verified_at", sa.BigInteger),  # NULL: it serves nothing yet
    sa.Column("removed_at", sa.BigInteger),  # removed: no other workspace gets it for a while
    sa.Column("missing_since", sa.BigInteger),  # the record of one that was verified
    sa.Index(
        "uq_domains_verified",
        "host",
        unique=True,
        **where("verified_at IS NOT NULL AND removed_at IS NULL"),
    ),
)

# Rate limits for several workers without Redis: when the next request is due (GCRA).
limits = sa.Table(
    "limits",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("due_at", sa.BigInteger, nullable=False, index=True),
)
