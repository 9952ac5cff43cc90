"""Compares the links in copies and backups with their checksums."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kurz.errors import BackupBroken, StoreUnavailable
from kurz.links.checksums import Checksums, open_key
from kurz.storage.backup.snapshot import open_unchanged
from kurz.storage.engine import sqlite
from kurz.storage.links.checksums import KEY_NAME
from kurz.storage.links.verifying import Tell, VerifiedLinks, has_checksums, silent, verify_links
from kurz.storage.schema.links import installation, links
from kurz.storage.schema.people import workspaces

_COMPARED = ("checksum", "workspace_id", "short_code", "original_url", "location")


def verify_copy(path: Path, tell: Tell = silent) -> VerifiedLinks | None:
    """Of a copy of the embedded database. None: its schema has no checksums."""
    try:
        with open_unchanged(path) as connection:
            return verify_links(connection, tell) if has_checksums(connection) else None
    except Exception as error:
        outage = sqlite.translate(error)
        if outage is None:
            raise
        raise StoreUnavailable(outage.detail) from error


class RowChecker:
    """Takes the rows of a portable backup as they are read. `found` is None if its schema has no
    checksums."""

    def __init__(self) -> None:
        self.found: VerifiedLinks | None = None
        self._checksums: Checksums | None = None
        self._columns: Mapping[str, Mapping[str, int]] = {}

    def begin(self, columns: Mapping[str, Sequence[str]]) -> None:
        self._columns = {
            table: {name: position for position, name in enumerate(names)}
            for table, names in columns.items()
        }
        if self._columns.get(links.name, {}).keys() >= {*_COMPARED}:
            self.found = VerifiedLinks(has_key=False)

    def take(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        """Raises `BackupBroken` for rows that do not fit their table."""
        if self.found is None:
            return
        try:
            self._take(self.found, table, self._columns.get(table, {}), rows)
        except (IndexError, KeyError, TypeError):
            raise BackupBroken("The backup is damaged: its rows do not fit.") from None

    def _take(
        self,
        found: VerifiedLinks,
        table: str,
        positions: Mapping[str, int],
        rows: Sequence[Sequence[Any]],
    ) -> None:
        if table == installation.name:
            self._take_key(found, {row[positions["name"]]: row[positions["value"]] for row in rows})
        elif table == workspaces.name:
            found.slugs |= {row[positions["id"]]: row[positions["slug"]] for row in rows}
        elif table == links.name:
            compared = [positions[name] for name in _COMPARED]
            for row in rows:
                checksum, workspace_id, *texts = (row[position] for position in compared)
                encoded = [text.encode() if isinstance(text, str) else text for text in texts]
                found.take(self._checksums, (checksum, workspace_id, *encoded))

    def _take_key(self, found: VerifiedLinks, values: Mapping[str, bytes]) -> None:
        key = open_key(values[KEY_NAME]) if KEY_NAME in values else None
        if key is not None:
            self._checksums, found.has_key = Checksums(key), True
