"""Makes and checks backups of the embedded database, its journals and its secret."""

import contextlib
import fcntl
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from kurz import __version__
from kurz.clicks.header import SUFFIX
from kurz.clicks.segments import list_segments
from kurz.errors import BackupBroken, BackupRefused, BackupUnavailable
from kurz.jobs.backups import STOPPED
from kurz.jobs.clicks.journals import COUNTED_SUFFIX, OWNER
from kurz.settings.model import Settings
from kurz.storage.backup.contents import (
    Contents,
    check_copy,
    contents_of,
    counted_offsets,
)
from kurz.storage.backup.snapshot import Stopped, copy_database, open_copy, trim_copy
from kurz.storage.links.verifying import VerifiedLinks
from kurz.transfer.backup.manifest import Manifest
from kurz.transfer.backup.opening import PackedFile, read_pack
from kurz.transfer.backup.packing import DATABASE, JOURNAL, SECRET, Pack, packed
from kurz.transfer.backup.sealing import BackupKeys, Seal, unsealed
from kurz.wiring.backup_storage import BackupTarget, keys_of
from kurz.wiring.link_checking import verify_copy

PACKED_SHARE = 0.5  # of what is packed: databases of links shrink to a third
STAGING_PREFIX, STAGING_SUFFIX = "backup-", ".part"


class ShowProgress(Protocol):
    def __call__(self, what: str, done_bytes: int, total_bytes: int) -> None:
        """Shows how far a step has come."""


class JournalFile(NamedTuple):
    """`size` is that of its copy: the file may grow."""

    path: Path
    size: int
    modified_at: float


class MadeBackup(NamedTuple):
    """`links` are compared with their checksums."""

    manifest: Manifest
    where: str
    size: int
    links: VerifiedLinks | None


def never() -> bool:
    return False


def silent(what: str, done_bytes: int, total_bytes: int) -> None:
    pass


class BackupWriter:
    """For a thread that may wait: a large database takes minutes."""

    def __init__(
        self,
        settings: Settings,
        *,
        tell: ShowProgress = silent,
        is_stopping: Callable[[], bool] = never,
    ) -> None:
        self.settings = settings
        self.tell = tell
        self.is_stopping = is_stopping

    def create(self, target: BackupTarget, now: datetime) -> MadeBackup:
        """Raises a `KurzError`. Until it is complete and checked, nothing has the
        target's name."""
        target.check()
        keys = keys_of(self.settings)
        seal = Seal(keys) if keys.are_given else None
        try:
            self.check_space(target)
            return self.create_checked(target, seal, now)
        except Stopped:
            raise BackupRefused(STOPPED) from None
        except OSError as error:
            raise BackupUnavailable(
                f"The backup {target.shown} cannot be written: {error.strerror or error}."
            ) from error

    def create_checked(self, target: BackupTarget, seal: Seal | None, now: datetime) -> MadeBackup:
        with staging(self.settings.backup_dir) as folder:
            return self._create(target, folder, seal, now)

    def _create(
        self, target: BackupTarget, folder: Path, seal: Seal | None, now: datetime
    ) -> MadeBackup:
        # The database comes first. What it has counted by then is in it, and everything else is in
        # the journals, from where it says it has counted to.
        copy = folder / DATABASE
        total = used_bytes(self.settings.database_path)
        copy_database(
            self.settings.database_path,
            copy,
            self.is_stopping,
            lambda done: self.tell("copying", done, total),
        )
        trim_copy(copy, self.is_stopping)
        with open_copy(copy) as connection:
            contents, offsets = contents_of(connection), counted_offsets(connection)
        links = self._verify(copy)
        journals = find_journals(self.settings.journal_dir, offsets)
        size = copy.stat().st_size
        manifest = describe(self.settings, contents, size, journals, now, links)

        def write(file: BinaryIO) -> None:
            if seal is None:
                self._pack(file, manifest, copy, journals)
            else:
                with seal.sealed(file) as inner:
                    self._pack(inner, manifest, copy, journals)
            copy.unlink()  # it is unpacked again, for the check

        check = partial(
            self._check, folder, manifest, BackupKeys() if seal is None else seal.own_keys
        )
        return MadeBackup(manifest, target.shown, target.store(write, check), links)

    def _verify(self, copy: Path) -> VerifiedLinks | None:
        def go_on(_: int) -> None:
            if self.is_stopping():
                raise BackupRefused(STOPPED)

        return verify_copy(copy, go_on)

    def _pack(
        self, file: BinaryIO, manifest: Manifest, copy: Path, journals: Sequence[JournalFile]
    ) -> None:
        total = manifest.database_bytes + manifest.journal_bytes
        with packed(file, manifest) as pack:
            at = manifest.created_at.timestamp()
            with copy.open("rb") as source:
                told = _Told(source, self.is_stopping, partial(self.tell, "packing"), total)
                pack.add(DATABASE, told, manifest.database_bytes, at)
            add_files(pack, self.settings, manifest, journals)

    def _check(self, folder: Path, made: Manifest, keys: BackupKeys, path: Path) -> None:
        """Opens what was written, and counts again."""
        copy = folder / DATABASE

        def unpack(_: Manifest, member: PackedFile) -> None:
            if member.name == DATABASE:
                done = 0
                with copy.open("wb") as file:
                    for chunk in member.chunks:
                        if self.is_stopping():
                            raise BackupRefused(STOPPED)
                        file.write(chunk)
                        done += len(chunk)
                        self.tell("checking", done, made.database_bytes)

        with path.open("rb") as file, unsealed(file, keys) as content:
            found = read_pack(content, unpack)
        check_copy(copy)
        with open_copy(copy) as connection:
            contents = contents_of(connection)
        if damaged_of(self._verify(copy)) != made.damaged_links:
            raise BackupBroken("The backup does not contain what was written. Check the disk.")
        if found != made or contents != Contents(*(getattr(made, it) for it in Contents._fields)):
            raise BackupBroken("The backup does not contain what was written. Check the disk.")

    def check_space(self, target: BackupTarget) -> None:
        settings = self.settings
        settings.backup_dir.mkdir(mode=0o700, exist_ok=True)
        copied = used_bytes(settings.database_path)
        journals = sum(path.stat().st_size for path in list_segments(settings.journal_dir))
        result = int((copied + journals) * PACKED_SHARE)
        kept = settings.min_free_megabytes * 1024**2  # or clicks could not be recorded
        folder = target.folder or settings.backup_dir
        if folder.stat().st_dev == settings.backup_dir.stat().st_dev:
            require_space(settings.backup_dir, copied + result + kept)
        else:
            require_space(settings.backup_dir, copied + kept)
            require_space(folder, result)


def describe(
    settings: Settings,
    contents: Contents,
    size: int,
    journals: Sequence[JournalFile],
    now: datetime,
    links: VerifiedLinks | None,
) -> Manifest:
    """`size` is that of the database."""
    return Manifest(
        kurz=__version__,
        created_at=now,
        **contents._asdict(),
        journals=sum(it.path.suffix == SUFFIX for it in journals),
        database_bytes=size,
        journal_bytes=sum(it.size for it in journals),
        has_secret=settings.secret is None and settings.secret_path.exists(),
        damaged_links=damaged_of(links),
    )


def damaged_of(links: VerifiedLinks | None) -> int:
    return 0 if links is None else links.damaged


def add_files(
    pack: Pack, settings: Settings, manifest: Manifest, journals: Sequence[JournalFile]
) -> None:
    """What is not in the database."""
    at = manifest.created_at.timestamp()
    if manifest.has_secret:
        pack.add_bytes(SECRET, settings.secret_path.read_bytes(), at)
    for journal in journals:
        with journal.path.open("rb") as source:
            pack.add(JOURNAL + journal.path.name, source, journal.size, journal.modified_at)


def find_journals(folder: Path, offsets: Mapping[bytes, int]) -> list[JournalFile]:
    """What is not counted, and what says since when the rest is counted. A segment that disappears
    meanwhile was counted long ago."""
    found = []
    for path in sorted(folder.glob("*")) if folder.is_dir() else []:
        is_segment = path.suffix == SUFFIX
        if not is_segment and path.suffix != COUNTED_SUFFIX and path.name != OWNER:
            continue
        with contextlib.suppress(FileNotFoundError):
            status = path.stat()
            if not is_segment or status.st_size > offsets.get(bytes.fromhex(path.stem), 0):
                found.append(JournalFile(path, status.st_size, status.st_mtime))
    return found


@contextmanager
def staging(parent: Path) -> Iterator[Path]:
    """A folder for the copy, locked while this process lives. Those of dead processes are
    removed."""
    parent.mkdir(mode=0o700, exist_ok=True)
    for left in parent.glob(f"{STAGING_PREFIX}*{STAGING_SUFFIX}"):
        with contextlib.suppress(OSError), _locked(left):
            shutil.rmtree(left)
    folder = parent / f"{STAGING_PREFIX}{secrets.token_hex(8)}{STAGING_SUFFIX}"
    folder.mkdir(mode=0o700)
    try:
        with _locked(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Raises `OSError` if another process has it."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(file)


class _Told:
    """A file whose reading is shown, and can be given up."""

    def __init__(
        self,
        file: BinaryIO,
        is_stopping: Callable[[], bool],
        tell: Callable[[int, int], None],
        total: int,
    ) -> None:
        self._file = file
        self._is_stopping = is_stopping
        self._tell = tell
        self._total = total
        self._done = 0

    def read(self, size: int = -1) -> bytes:
        if self._is_stopping():
            raise BackupRefused(STOPPED)
        data = self._file.read(size)
        self._done += len(data)
        self._tell(self._done, self._total)
        return data


def used_bytes(path: Path) -> int:
    """Of the database, with what is still in its log."""
    log = path.with_name(f"{path.name}-wal")
    return path.stat().st_size + (log.stat().st_size if log.exists() else 0)


def require_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise BackupRefused(
            f"The backup needs {needed / 1024**2:,.0f} MiB of free space in {folder}, but only"
            f" {free / 1024**2:,.0f} MiB is available. Free up space."
        )
