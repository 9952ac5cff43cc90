"""Restores a backup into an empty data folder, and into an empty database if that is on a
server."""

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import BinaryIO

import sqlalchemy as sa

from kurz.clock import to_micros
from kurz.errors import BackupBroken, BackupRefused, StoreUnavailable
from kurz.files import open_new, sync_folder
from kurz.settings.model import Settings
from kurz.storage.backup.contents import check_copy
from kurz.storage.backup.renewal import renew
from kurz.storage.backup.snapshot import open_copy
from kurz.storage.engine.migrate import Migrations
from kurz.storage.portable.loading import RowLoader
from kurz.storage.portable.outcomes import is_committed, transaction_id
from kurz.transfer.backup.manifest import PORTABLE, SQLITE, Manifest
from kurz.transfer.backup.opening import MAX_SECRET_BYTES, PackedFile, read_pack
from kurz.transfer.backup.packing import DATABASE, JOURNAL, SECRET, TABLES
from kurz.transfer.backup.rows import (
    MAX_ROWS_BYTES,
    MAX_TABLES_BYTES,
    ROWS,
    Tables,
    decode_rows,
    decode_tables,
    table_of,
)
from kurz.transfer.backup.sealing import unsealed
from kurz.transfer.backup.trailer import Readable
from kurz.wiring.backup import ShowProgress, require_space, silent
from kurz.wiring.backup_storage import BackupTarget, keys_of
from kurz.wiring.engine import Engine

UNFINISHED = "restore.part"
LOST = "lost+found"  # at the top of a disk
LOADING_CACHE_KIB = 64 * 1024  # indexes are built
ASKED_SECONDS = 60.0  # a server that was restarted answers again
ASKED_AGAIN_SECONDS = 0.5
_UNKNOWN = (
    "The connection to PostgreSQL was lost at the end of the restore, and it is unknown whether the"
    " restore is complete. Keep {folder}: it has the journals and the secret. When PostgreSQL"
    " answers again, run `kurz doctor`. If it finds the schema, the restore is complete, so you can"
    " start kurz. If it does not, empty the folder and restore the backup again."
)


class BackupRestorer:
    """`asked_seconds` is how long it asks whether a restore was completed, if the connection was
    lost at its end."""

    def __init__(
        self,
        settings: Settings,
        *,
        tell: ShowProgress = silent,
        asked_seconds: float = ASKED_SECONDS,
    ) -> None:
        self._settings = settings
        self._tell = tell
        self._asked_seconds = asked_seconds

    def restore(self, source: BackupTarget, now: datetime) -> Manifest:
        """Raises a `KurzError`; then the folder and the database are as they were, unless it says
        that this is unknown. The database becomes visible last, so that nothing uses an incomplete
        one."""
        folder, engine = self._settings.data_dir, Engine(self._settings)
        published = _Published(folder)
        try:
            with (
                source.opened() as file,
                _emptied(folder) as unfinished,
                unsealed(file, keys_of(self._settings)) as content,
            ):
                unpacking = _Unpacking(unfinished, self._tell, now, is_file=engine.file is not None)
                if engine.file is None:
                    server_restore = _ServerRestore(content, unpacking, published)
                    return self._restore_to_server(engine, server_restore)
                path = unfinished / DATABASE
                manifest = unpacking.unpack(content, partial(_new_database, path))
                published.publish(unfinished)
        except OSError as error:
            raise BackupRefused(
                f"The backup cannot be restored to {folder}: {error.strerror or error}."
            ) from error
        return manifest

    def _restore_to_server(self, engine: Engine, restore: "_ServerRestore") -> Manifest:
        try:
            return asyncio.run(engine.run_alone(restore.run))
        except BaseException as error:
            if restore.transaction is None:
                raise
            is_done = asyncio.run(self._is_committed(engine, restore.transaction))
            if is_done is False:
                restore.published.take_back()
                raise
            if is_done:
                return restore.manifest
            raise StoreUnavailable(_UNKNOWN.format(folder=self._settings.data_dir)) from error

    async def _is_committed(self, engine: Engine, transaction: int) -> bool | None:
        """None: it is not known, because the server does not answer."""
        asked, found = time.monotonic(), None
        while found is None and (passed := time.monotonic() - asked) < self._asked_seconds:
            with suppress(StoreUnavailable):
                ends = passed > self._asked_seconds / 2
                found = await engine.run_alone(is_committed, transaction, ends=ends)
            if found is None:
                await asyncio.sleep(ASKED_AGAIN_SECONDS)
        return found


class _Published:
    """What was moved to the data folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names: list[str] = []

    def publish(self, unfinished: Path) -> None:
        """The database comes last. If it fails, nothing is left."""
        names = sorted((path.name for path in unfinished.iterdir()), key=lambda it: it == DATABASE)
        try:
            for name in names:
                if (unfinished / name).is_dir():
                    sync_folder(unfinished / name)
                (unfinished / name).rename(self._folder / name)
                self._names.append(name)
                sync_folder(self._folder)
        except OSError:
            self.take_back()
            raise

    def take_back(self) -> None:
        for name in self._names:
            path = self._folder / name
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


class _ServerRestore:
    """Into a database on a server, in one transaction. Journals and the secret are published before
    its end: a database without them would lose clicks. `transaction` is None until it ends."""

    manifest: Manifest

    def __init__(
        self, content: Readable | BinaryIO, unpacking: "_Unpacking", published: _Published
    ) -> None:
        self.published = published
        self.transaction: int | None = None
        self._content = content
        self._unpacking = unpacking

    def run(self, connection: sa.Connection) -> Manifest:
        self.manifest = self._unpacking.unpack(self._content, lambda: nullcontext(connection))
        transaction = transaction_id(connection)
        self.published.publish(self._unpacking.folder)
        self.transaction = transaction
        connection.commit()
        return self.manifest


class _Unpacking:
    """Into a folder; the rows of a portable backup into a database. `is_file`: that is in the
    folder too."""

    def __init__(self, folder: Path, tell: ShowProgress, now: datetime, *, is_file: bool) -> None:
        self.folder = folder
        self._tell = tell
        self._now = to_micros(now)
        self._is_file = is_file
        self._done = 0
        self._is_checked = False

    def unpack(
        self,
        content: Readable | BinaryIO,
        open_database: Callable[[], AbstractContextManager[sa.Connection]],
    ) -> Manifest:
        """Raises a `KurzError`. The database is only opened for a portable backup."""
        with ExitStack() as stack:
            rows: list[_Rows] = []

            def handle(manifest: Manifest, member: PackedFile) -> None:
                self._check(manifest)
                if manifest.kind == PORTABLE and not rows:
                    rows.append(_Rows(stack.enter_context(open_database()), manifest))
                self._take(manifest, member, rows)

            manifest = read_pack(content, handle)
            for it in rows:
                it.finish(self._now)
        if manifest.kind == SQLITE:
            self._renew(manifest)
        return manifest

    def _take(self, manifest: Manifest, member: PackedFile, rows: "list[_Rows]") -> None:
        if member.name == TABLES or member.name.startswith(ROWS):
            for it in rows:
                it.take(member)
            self._note(manifest, member.size)
        else:
            self._unpack(manifest, member)

    def _unpack(self, manifest: Manifest, member: PackedFile) -> None:
        if member.name == SECRET and member.size > MAX_SECRET_BYTES:
            raise BackupBroken("The backup is damaged: the secret is too large.")
        path = self.folder / member.name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with open_new(path) as file:
            for chunk in member.chunks:
                file.write(chunk)
                self._note(manifest, len(chunk))
            file.flush()
            os.fsync(file.fileno())
        if member.name.startswith(JOURNAL):  # it says since when a journal is counted
            at = int(member.modified_at * 1e9)
            os.utime(path, ns=(at, at))

    def _note(self, manifest: Manifest, size: int) -> None:
        self._done += size
        self._tell("restoring", self._done, manifest.database_bytes + manifest.journal_bytes)

    def _check(self, manifest: Manifest) -> None:
        if self._is_checked:
            return
        self._is_checked = True
        head = Migrations().head
        if manifest.schema > head:
            raise BackupRefused(
                f"The backup has schema {manifest.schema}, but this version of kurz only knows"
                f" {head}. Use kurz {manifest.kurz} or newer."
            )
        if not self._is_file and manifest.kind == SQLITE:
            raise BackupRefused(
                "This backup can only be restored to the embedded database. Unset"
                " KURZ_DATABASE_URL, or make a backup with `kurz backup --portable`."
            )
        in_folder = manifest.database_bytes if self._is_file else 0
        require_space(self.folder, in_folder + manifest.journal_bytes)

    def _renew(self, manifest: Manifest) -> None:
        path = self.folder / DATABASE
        try:
            check_copy(path)
        except StoreUnavailable as error:
            raise BackupBroken(f"The backup cannot be restored. {error.detail}") from None
        with open_copy(path) as connection:
            connection.exec_driver_sql("BEGIN")
            renew(connection, self._now, manifest.created_at.isoformat())
            connection.exec_driver_sql("COMMIT")


class _Rows:
    """The rows of a portable backup."""

    def __init__(self, connection: sa.Connection, manifest: Manifest) -> None:
        self._loader = RowLoader(connection)
        self._manifest = manifest
        self._tables = Tables({}, {})
        self._loader.create(manifest.schema, manifest.oldest_schema)

    def take(self, member: PackedFile) -> None:
        if member.name == TABLES:
            self._tables = decode_tables(member.read(MAX_TABLES_BYTES))
            self._loader.begin(self._tables.columns, self._manifest.links)
        else:
            self._loader.add(table_of(member.name), decode_rows(member.read(MAX_ROWS_BYTES)))

    def finish(self, now: int) -> None:
        created_at = self._manifest.created_at.isoformat()
        self._loader.finish(self._tables.numbers, now, created_at)


@contextmanager
def _new_database(path: Path) -> Iterator[sa.Connection]:
    """An empty file, and one transaction."""
    open_new(path).close()
    with open_copy(path, is_new=True) as connection:
        connection.exec_driver_sql(f"PRAGMA cache_size=-{LOADING_CACHE_KIB}")
        connection.exec_driver_sql("BEGIN")
        yield connection
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
