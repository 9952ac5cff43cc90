"""People: accounts, keys, members, one-time passes; quotas, limits, receipts; lists of links."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

NEVER = 2**63 - 1
# Classes of SQLSTATE: connection, rolled back, out of resources, operator intervention. What fails
# so can be tried again.
OUTAGES = frozenset({"08", "40", "53", "57"})


def upgrade() -> None:
    _create_tables()
    _extend_workspaces()
    _rebuild_domains()
    _extend_links()
    if op.get_bind().dialect.name == "sqlite":
        _index_text_on_sqlite()
    else:
        _index_text_on_postgres()


def _create_tables() -> None:
    op.create_table(
        "accounts",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=False),
        sa.Column("is_admin", sa.Boolean(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("signed_in_at", sa.BigInteger(), nullable=True),
        sa.Column("disabled_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_accounts"),
        sa.UniqueConstraint("email", name="uq_accounts_email"),
    )
    op.create_table(
        "ended_tokens",
        sa.Column("token_id", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("token_id", name="pk_ended_tokens"),
    )
    op.create_index("ix_ended_tokens_expires_at", "ended_tokens", ["expires_at"], unique=False)
    op.create_table(
        "history",
        sa.Column("link_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("version", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=True),
        sa.Column("act", sa.Text(), nullable=False),
        sa.Column("changes", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("link_id", "version", name="pk_history"),
    )
    op.create_table(
        "keys",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("workspace_id", sa.BigInteger(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("prefix", sa.Text(), nullable=False),
        sa.Column("secret_hash", sa.LargeBinary(), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("last_used_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_keys"),
        sa.UniqueConstraint("prefix", name="uq_keys_prefix"),
    )
    op.create_index("ix_keys_account_id", "keys", ["account_id"], unique=False)
    op.create_table(
        "limits",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_limits"),
    )
    op.create_index("ix_limits_due_at", "limits", ["due_at"], unique=False)
    op.create_table(
        "link_tags",
        sa.Column("space", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("tag", sa.Text(), nullable=False),
        sa.Column("link_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("space", "tag", "link_id", name="pk_link_tags"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_link_tags_link_id", "link_tags", ["link_id"], unique=False)
    op.create_table(
        "members",
        sa.Column("workspace_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("account_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("workspace_id", "account_id", name="pk_members"),
    )
    op.create_index("ix_members_account_id", "members", ["account_id"], unique=False)
    op.create_table(
        "passes",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("token_hash", sa.LargeBinary(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=True),
        sa.Column("workspace_id", sa.BigInteger(), nullable=True),
        sa.Column("role", sa.Text(), nullable=True),
        sa.Column("created_by", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_passes"),
        sa.UniqueConstraint("token_hash", name="uq_passes_token_hash"),
    )
    op.create_index("ix_passes_workspace_id", "passes", ["workspace_id"], unique=False)
    op.create_table(
        "receipts",
        sa.Column("caller", sa.Text(), nullable=False),
        sa.Column("key_hash", sa.LargeBinary(), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(), nullable=False),
        sa.Column("answer", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("caller", "key_hash", name="pk_receipts"),
    )
    op.create_index("ix_receipts_created_at", "receipts", ["created_at"], unique=False)
    op.create_table(
        "search_position",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("change_id", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_search_position"),
    )
    op.create_table(
        "usage",
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("month", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("links", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("subject", "month", name="pk_usage"),
    )


def _extend_workspaces() -> None:
    op.add_column(
        "workspaces",
        sa.Column("strategy", sa.Text(), server_default="deterministic", nullable=False),
    )
    op.add_column("workspaces", sa.Column("default_expiry_days", sa.Integer()))
    op.add_column("workspaces", sa.Column("links_per_month", sa.BigInteger()))
    op.add_column("workspaces", sa.Column("deleted_at", sa.BigInteger()))


def _rebuild_domains() -> None:
    """Several workspaces may name a domain: the primary key gets wider. The rows wait elsewhere, so
    that the new table and its key can have the names of the old ones at once."""
    op.execute("CREATE TABLE old_domains AS SELECT * FROM domains")
    op.drop_table("domains")
    op.create_table(
        "domains",
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("workspace_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("checked_at", sa.BigInteger(), nullable=True),
        sa.Column("verified_at", sa.BigInteger(), nullable=True),
        sa.Column("removed_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("host", "workspace_id", name="pk_domains"),
    )
    op.execute(
        "INSERT INTO domains (host, workspace_id, created_at, verified_at)"
        " SELECT host, workspace_id, created_at, verified_at FROM old_domains"
    )
    op.drop_table("old_domains")
    op.create_index(
        "uq_domains_verified",
        "domains",
        ["host"],
        unique=True,
        **_where("verified_at IS NOT NULL AND removed_at IS NULL"),
    )


def _extend_links() -> None:
    op.add_column("links", sa.Column("space", sa.BigInteger(), server_default="0", nullable=False))
    op.execute(
        "UPDATE links SET space = CASE WHEN workspace_id > 0 THEN workspace_id ELSE -owner_id END"
        " WHERE workspace_id > 0 OR owner_id IS NOT NULL"
    )
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    each = "json_each(tags)" if is_sqlite else "json_array_elements_text(tags::json)"
    op.execute(
        "INSERT INTO link_tags (space, tag, link_id)"  # noqa: S608  our own words
        f" SELECT DISTINCT space, each.value, links.id FROM links, {each} AS each"
        " WHERE tags IS NOT NULL AND space <> 0"
    )
    expiry = sa.text(f"coalesce(expires_at, {NEVER})")
    carried = ["status", "expires_at", "owner_id"]
    owned = "space <> 0"
    halted = "space <> 0 AND status IN ('DELETED', 'PAUSED', 'BANNED')"
    spent = "space <> 0 AND clicks_used >= max_clicks"
    indexes: list[tuple[str, list[Any], str]] = [
        ("clicks", ["redirect_count", "id", *carried, "created_at"], owned),
        ("created", ["created_at", "id", *carried], owned),
        ("exhausted", ["created_at", "id", *carried], spent),
        ("expiry", [expiry, "id", *carried, "created_at"], owned),
        ("owner", ["owner_id", "created_at", "id", "status", "expires_at"], "space > 0"),
        ("state", ["status", "created_at", "id", "expires_at", "owner_id"], halted),
        ("updated", ["updated_at", "id", *carried, "created_at"], owned),
    ]
    for name, columns, condition in indexes:
        op.create_index(f"ix_links_{name}", "links", ["space", *columns], **_where(condition))
    op.create_index(
        "uq_links_claim",
        "links",
        ["space", "claim_hash"],
        unique=True,
        **_where("space <> 0 AND claim_hash IS NOT NULL"),
    )


def _index_text_on_sqlite() -> None:
    """The trigrams of links; filled from the change log, behind the writes."""
    version = op.get_bind().execute(sa.text("SELECT sqlite_version()")).scalar_one()
    numbers = tuple(int(part) for part in version.split("."))
    lean = ", content='', contentless_delete=1" if numbers >= (3, 43) else ""
    op.execute(
        f"CREATE VIRTUAL TABLE link_search USING fts5(space, text{lean}, tokenize='trigram')"
    )
    op.execute("INSERT INTO search_position (id, change_id) VALUES (1, 0)")


def _index_text_on_postgres() -> None:
    """The trigrams of links. Both extensions are trusted: the database's owner may add them. Where
    they are missing, forbidden or outside the search path, searches still work, by reading every
    link."""
    connection = op.get_bind()
    try:
        with connection.begin_nested():
            connection.execute(sa.text("CREATE EXTENSION IF NOT EXISTS pg_trgm"))
            connection.execute(sa.text("CREATE EXTENSION IF NOT EXISTS btree_gin"))
            op.execute(
                "CREATE INDEX ix_links_text ON links USING gin (space,"
                " (short_code || ' ' || original_url || ' ' || coalesce(title, '')) gin_trgm_ops)"
                " WHERE space <> 0"
            )
    except sa.exc.DBAPIError as error:
        state = getattr(error.orig, "sqlstate", None) or ""
        if error.connection_invalidated or state[:2] in OUTAGES:
            raise


def _where(condition: str) -> dict[str, Any]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}
