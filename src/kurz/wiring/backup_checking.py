"""Reads a whole backup, to find out whether it can be restored."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shutil import disk_usage
from typing import NamedTuple

from kurz.errors import BackupBroken, StoreUnavailable
from kurz.settings.model import Settings
from kurz.storage.backup.contents import check_copy
from kurz.storage.links.verifying import VerifiedLinks
from kurz.transfer.backup.manifest import Manifest
from kurz.transfer.backup.opening import PackedFile, read_pack
from kurz.transfer.backup.packing import DATABASE, TABLES
from kurz.transfer.backup.rows import (
    MAX_ROWS_BYTES,
    MAX_TABLES_BYTES,
    ROWS,
    decode_rows,
    decode_tables,
    table_of,
)
from kurz.transfer.backup.sealing import unsealed
from kurz.wiring.backup import ShowProgress, silent, staging
from kurz.wiring.backup_storage import BackupTarget, keys_of
from kurz.wiring.link_checking import RowChecker, verify_copy


class VerifiedBackup(NamedTuple):
    """`links`: None if they were not compared. Then `skipped` says why."""

    manifest: Manifest
    links: VerifiedLinks | None
    skipped: str | None = None


def verify_backup(
    settings: Settings, target: BackupTarget, tell: ShowProgress = silent
) -> VerifiedBackup:
    """Reads all of a backup. Raises `BackupBroken` if a byte of it has changed. Links that were
    damaged before the backup was made are in the result."""
    with (
        ExitStack() as stack,
        target.opened() as file,
        unsealed(file, keys_of(settings)) as content,
    ):
        reading = _Reading(settings, stack, tell)
        manifest = read_pack(content, reading.take)
        return VerifiedBackup(manifest, reading.verify(), reading.skipped)


class _Reading:
    """The database file is unpacked, because SQLite cannot read it in a stream."""

    def __init__(self, settings: Settings, stack: ExitStack, tell: ShowProgress) -> None:
        self.skipped: str | None = None
        self._settings = settings
        self._stack = stack
        self._tell = tell
        self._rows = RowChecker()
        self._copy: Path | None = None
        self._done = 0

    def take(self, manifest: Manifest, member: PackedFile) -> None:
        if member.name == DATABASE:
            self._unpack(manifest, member)
        elif member.name == TABLES:
            self._rows.begin(decode_tables(member.read(MAX_TABLES_BYTES)).columns)
        elif member.name.startswith(ROWS):
            rows = decode_rows(member.read(MAX_ROWS_BYTES))
            self._rows.take(table_of(member.name), rows)
            self._note(manifest, member.size)

    def verify(self) -> VerifiedLinks | None:
        if self._copy is None:
            found = self._rows.found
        else:
            try:
                check_copy(self._copy)
                found = verify_copy(self._copy)
            except StoreUnavailable as error:
                raise BackupBroken(f"The backup is damaged: {error.detail}") from None
        if found is None and self.skipped is None:
            self.skipped = "its schema has none"
        return found

    def _unpack(self, manifest: Manifest, member: PackedFile) -> None:
        folder = self._stack.enter_context(_folder(self._settings))
        if disk_usage(folder).free < member.size:
            needed = f"{member.size / 1024**2:,.0f} MiB"
            self.skipped = f"that needs {needed} of free space in {folder.parent}"
            return
        copy = folder / DATABASE
        with copy.open("wb") as file:
            for chunk in member.chunks:
                file.write(chunk)
                self._note(manifest, len(chunk))
        self._copy = copy

    def _note(self, manifest: Manifest, size: int) -> None:
        self._done += size
        self._tell("checking", self._done, manifest.database_bytes)


@contextmanager
def _folder(settings: Settings) -> Iterator[Path]:
    """In the data folder, which has room for the database; elsewhere on a machine without one."""
    if os.access(settings.data_dir, os.W_OK | os.X_OK):
        with staging(settings.backup_dir) as folder:
            yield folder
    else:
        with tempfile.TemporaryDirectory(prefix="kurz-") as name:
            yield Path(name)
