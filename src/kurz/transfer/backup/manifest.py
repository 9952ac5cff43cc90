"""What a backup contains: its first file, which every later version can read."""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from kurz.errors import BackupBroken, BackupRefused

FORMAT = 1
SQLITE = "sqlite"  # a database file, journals and a secret
PORTABLE = "portable"  # rows instead, which both engines can store
MAX_MANIFEST_BYTES = 64 * 1024

_Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class Manifest(msgspec.Struct, kw_only=True, frozen=True):
    """`kind` says what the other files are. `clicks` are those that the database has counted; the
    journals have more. Programs with a schema before `oldest_schema` cannot use the database. A
    portable backup has no database file: `database_bytes` is the size of the original database.
    `damaged_links` already differed from their checksums when the backup was made."""

    format: int = FORMAT
    kind: str = SQLITE
    kurz: str
    schema: str
    oldest_schema: str
    created_at: Annotated[datetime, Meta(tz=True)]
    links: _Count
    accounts: _Count
    workspaces: _Count
    clicks: _Count
    journals: _Count
    database_bytes: _Count
    journal_bytes: _Count
    has_secret: bool
    damaged_links: _Count = 0


class _Outline(msgspec.Struct):
    format: int
    kind: str


def encode(manifest: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def decode(data: bytes) -> Manifest:
    try:
        outline = msgspec.json.decode(data, type=_Outline)
        if outline.format != FORMAT or outline.kind not in (SQLITE, PORTABLE):
            raise BackupRefused(
                f"This backup has format {outline.format} with content “{outline.kind[:40]}”, which"
                " this version of kurz cannot read. Use a newer version of kurz."
            )
        return msgspec.json.decode(data, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise BackupBroken("The backup is damaged: its manifest cannot be read.") from None
