"""A checksum of where each link leads, and the key of these checksums.

Existing links have none until the background work adds it. The previous version does not write it:
where that changes a destination, a trigger removes the checksum."""

import secrets

import sqlalchemy as sa
from alembic import op

from kurz.links.checksums import KEY_BYTES, seal_key

revision = "0025"
down_revision = "0024"
works_with = "0023"

_COLUMNS = ("workspace_id", "short_code", "original_url", "location")
_POSTGRES_FUNCTION = """
CREATE OR REPLACE FUNCTION kurz_drop_checksum() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN NEW.checksum := NULL; RETURN NEW; END $$
"""
_POSTGRES_TRIGGER = """
CREATE TRIGGER drop_checksum BEFORE UPDATE OF {columns} ON links FOR EACH ROW
WHEN (NEW.checksum IS NOT DISTINCT FROM OLD.checksum AND ({are_changed}))
EXECUTE FUNCTION kurz_drop_checksum()
"""
_SQLITE_TRIGGER = """
CREATE TRIGGER drop_checksum AFTER UPDATE OF {columns} ON links
WHEN NEW.checksum IS OLD.checksum AND ({are_changed})
BEGIN UPDATE links SET checksum = NULL WHERE id = NEW.id; END
"""


def upgrade() -> None:
    op.add_column("links", sa.Column("checksum", sa.LargeBinary()))
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    trigger, differs = (
        (_SQLITE_TRIGGER, "IS NOT") if is_sqlite else (_POSTGRES_TRIGGER, "IS DISTINCT FROM")
    )
    if not is_sqlite:
        op.execute(_POSTGRES_FUNCTION)
    are_changed = " OR ".join(f"NEW.{name} {differs} OLD.{name}" for name in _COLUMNS)
    op.execute(trigger.format(columns=", ".join(_COLUMNS), are_changed=are_changed))
    installation = sa.table("installation", sa.column("name"), sa.column("value", sa.LargeBinary))
    key = seal_key(secrets.token_bytes(KEY_BYTES))
    op.execute(installation.insert().values(name="checksum-key", value=key))
