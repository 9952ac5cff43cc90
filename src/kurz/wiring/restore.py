"""Restores a backup into an empty data folder."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from kurz.clock import to_micros
from kurz.errors import BackupBroken, BackupRefused, StoreUnavailable
from kurz.files import open_new, sync_folder
from kurz.settings.model import Settings
from kurz.storage.backup.contents import check_copy
from kurz.storage.backup.renewal import renew
from kurz.storage.backup.snapshot import open_copy
from kurz.storage.engine.migrate import Migrations
from kurz.transfer.backup.manifest import Manifest
from kurz.transfer.backup.opening import MAX_SECRET_BYTES, PackedFile, read_pack
from kurz.transfer.backup.packing import DATABASE, JOURNAL, SECRET
from kurz.transfer.backup.sealing import unsealed
from kurz.wiring.backup import ShowProgress, require_space, silent
from kurz.wiring.backup_storage import BackupTarget, keys_of
from kurz.wiring.engine import Engine

UNFINISHED = "restore.part"
LOST = "lost+found"  # at the top of a disk


class BackupRestorer:
    def __init__(self, settings: Settings, *, tell: ShowProgress = silent) -> None:
        self._settings = settings
        self._tell = tell
        self._done = 0

    def restore(self, source: BackupTarget, now: datetime) -> Manifest:
        """Raises a `KurzError`; then the folder is as it was. The database gets its name last, so
        that nothing uses an incomplete one."""
        if Engine(self._settings).file is None:
            raise BackupRefused(
                "This backup can only be restored to the embedded database. Unset"
                " KURZ_DATABASE_URL."
            )
        folder = self._settings.data_dir
        try:
            with source.opened() as file, _emptied(folder) as unfinished:
                with unsealed(file, keys_of(self._settings)) as content:
                    manifest = read_pack(content, lambda it, one: self._unpack(unfinished, it, one))
                self._renew(unfinished / DATABASE, manifest, now)
                _publish(unfinished, folder)
        except OSError as error:
            raise BackupRefused(
                f"The backup cannot be restored to {folder}: {error.strerror or error}."
            ) from error
        return manifest

    def _unpack(self, folder: Path, manifest: Manifest, member: PackedFile) -> None:
        if not self._done:
            self._check(folder, manifest)
        if member.name == SECRET and member.size > MAX_SECRET_BYTES:
            raise BackupBroken("The backup is damaged: the secret is too large.")
        path = folder / member.name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with open_new(path) as file:
            for chunk in member.chunks:
                file.write(chunk)
                self._done += len(chunk)
                total = manifest.database_bytes + manifest.journal_bytes
                self._tell("restoring", self._done, total)
            file.flush()
            os.fsync(file.fileno())
        if member.name.startswith(JOURNAL):  # it says since when a journal is counted
            at = int(member.modified_at * 1e9)
            os.utime(path, ns=(at, at))

    def _check(self, folder: Path, manifest: Manifest) -> None:
        head = Migrations().head
        if manifest.schema > head:
            raise BackupRefused(
                f"The backup has schema {manifest.schema}, but this version of kurz only knows"
                f" {head}. Use kurz {manifest.kurz} or newer."
            )
        require_space(folder, manifest.database_bytes + manifest.journal_bytes)

    def _renew(self, path: Path, manifest: Manifest, now: datetime) -> None:
        try:
            check_copy(path)
        except StoreUnavailable as error:
            raise BackupBroken(f"The backup cannot be restored. {error.detail}") from None
        with open_copy(path) as connection:
            connection.exec_driver_sql("BEGIN")
            renew(connection, to_micros(now), manifest.created_at.isoformat())
            connection.exec_driver_sql("COMMIT")


@contextmanager
def _emptied(folder: Path) -> Iterator[Path]:
    """A folder for what is unpacked, in a data folder that has nothing else."""
    is_new = not folder.exists()
    if not is_new and (not folder.is_dir() or any(it.name != LOST for it in folder.iterdir())):
        raise BackupRefused(
            f"The data folder {folder} is not empty. A backup is only restored into an empty"
            " folder. Stop kurz and move the folder away, or choose another one with --data-dir."
        )
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = folder / UNFINISHED
    try:
        folder.chmod(0o700)
        unfinished.mkdir(mode=0o700)
        yield unfinished
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
        if is_new and not any(folder.iterdir()):
            folder.rmdir()


def _publish(unfinished: Path, folder: Path) -> None:
    names = sorted(path.name for path in unfinished.iterdir())
    for name in [*(it for it in names if it != DATABASE), DATABASE]:
        if (unfinished / name).is_dir():
            sync_folder(unfinished / name)
        (unfinished / name).rename(folder / name)
        sync_folder(folder)
