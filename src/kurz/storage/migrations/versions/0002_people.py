"""People: accounts, keys, members, one-time passes; quotas, limits, receipts; lists of links."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

NEVER = 2**63 - 1


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
    """Several workspaces may name a domain: the primary key gets wider."""
    op.create_table(
        "new_domains",
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("workspace_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("checked_at", sa.BigInteger(), nullable=True),
        sa.Column("verified_at", sa.BigInteger(), nullable=True),
        sa.Column("removed_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("host", "workspace_id", name="pk_new_domains"),
    )
    op.execute(
        "INSERT INTO new_domains (host, workspace_id, created_at, verified_at)"
        " SELECT host, workspace_id, created_at, verified_at FROM domains"
    )
    op.drop_table("domains")
    op.rename_table("new_domains", "domains")
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
    op.create_index(
        "ix_links_clicks", "links", ["space", "redirect_count", "id"], **_where("space <> 0")
    )
    op.create_index(
        "ix_links_created", "links", ["space", "created_at", "id"], **_where("space <> 0")
    )
    op.create_index(
        "ix_links_exhausted",
        "links",
        ["space", "created_at", "id"],
        **_where("space <> 0 AND clicks_used >= max_clicks"),
    )
    op.create_index(
        "ix_links_owner", "links", ["space", "owner_id", "created_at", "id"], **_where("space > 0")
    )
    op.create_index(
        "ix_links_state",
        "links",
        ["space", "status", "created_at", "id"],
        **_where("space <> 0 AND status IN ('DELETED', 'PAUSED', 'BANNED')"),
    )
    op.create_index(
        "ix_links_updated", "links", ["space", "updated_at", "id"], **_where("space <> 0")
    )
    expiry = sa.text(f"coalesce(expires_at, {NEVER})")
    op.create_index("ix_links_expiry", "links", ["space", expiry, "id"], **_where("space <> 0"))


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
    they are missing or forbidden, searches still work, by reading every link."""
    connection = op.get_bind()
    try:
        with connection.begin_nested():
            connection.execute(sa.text("CREATE EXTENSION IF NOT EXISTS pg_trgm"))
            connection.execute(sa.text("CREATE EXTENSION IF NOT EXISTS btree_gin"))
    except sa.exc.DBAPIError:
        return
    op.execute(
        "CREATE INDEX ix_links_text ON links USING gin (space,"
        " (short_code || ' ' || original_url || ' ' || coalesce(title, '')) gin_trgm_ops)"
        " WHERE space <> 0"
    )


def _where(condition: str) -> dict[str, sa.TextClause]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}
