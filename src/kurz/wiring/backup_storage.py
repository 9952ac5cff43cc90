"""Where backups are stored: a file, or an object in a bucket."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, Protocol

from kurz.errors import BackupNotFound, BackupRefused, BackupUnavailable, SettingRefused
from kurz.files import written_whole
from kurz.settings.model import Settings
from kurz.transfer.backup.sealing import BackupKeys
from kurz.wiring.buckets import NEEDED, access_of, split
from kurz.wiring.engine import Engine

if TYPE_CHECKING:  # its library is an extra
    from kurz.outbound.backup_bucket import BackupBucket

BUCKET = "s3://"
LEFT_SECONDS = 86_400  # an unfinished file that was not written for so long is of a dead process


class BackupTarget(Protocol):
    """One backup, which may not exist yet."""

    shown: str
    folder: Path | None  # which needs space for it; None: another machine

    def check(self) -> None:
        """Raises before anything is done, if it could not be stored."""

    def store(self, write: Callable[[BinaryIO], None], check: Callable[[Path], None]) -> int:
        """Stores what is written, if it then passes the check; returns its size."""

    def opened(self) -> AbstractContextManager[IO[bytes]]: ...


class FileTarget:
    def __init__(self, path: Path, *, is_forced: bool = False) -> None:
        self.shown = str(path)
        self.folder: Path | None = path.absolute().parent
        self._path = path
        self._is_forced = is_forced

    def check(self) -> None:
        folder = self._path.absolute().parent
        if not folder.is_dir():
            raise BackupRefused(f"There is no folder {folder}. Create it first.")
        if self._path.is_dir():
            raise BackupRefused(f"{self._path} is a folder. Name a file in it.")
        if self._path.exists() and not self._is_forced:
            raise BackupRefused(f"{self._path} exists. Choose another name, or add --force.")

    def store(self, write: Callable[[BinaryIO], None], check: Callable[[Path], None]) -> int:
        pattern = f".{escape(self._path.name)}.*.part"
        remove_left(self._path.parent.glob(pattern), LEFT_SECONDS)
        with written_whole(self._path, check=check) as file:
            write(file)
        return self._path.stat().st_size

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            raise BackupNotFound(f"There is no file {self._path}.") from None
        except OSError as error:
            raise BackupUnavailable(f"{self._path} cannot be read: {error.strerror}.") from None
        with file:
            yield file


def remove_left(paths: Iterable[Path], seconds: float) -> None:
    """Removes unfinished files that nobody has written for so long."""
    for path in paths:
        with suppress(FileNotFoundError):  # its writer, or another server, has removed it
            if time.time() - path.stat().st_mtime >= seconds:
                path.unlink()


class BucketTarget:
    """It is packed in `staging` first."""

    folder: Path | None = None

    def __init__(
        self, bucket: "BackupBucket", name: str, shown: str, staging: Path, *, is_forced: bool
    ) -> None:
        self.shown = shown
        self._bucket = bucket
        self._name = name
        self._staging = staging
        self._is_forced = is_forced

    def check(self) -> None:
        if self._bucket.has(self._name) and not self._is_forced:
            raise BackupRefused(f"{self.shown} exists. Choose another name, or add --force.")

    def store(self, write: Callable[[BinaryIO], None], check: Callable[[Path], None]) -> int:
        path = self._staging / "upload.part"
        try:
            with written_whole(path, check=check) as file:
                write(file)
            self._bucket.upload(self._name, path)
            return path.stat().st_size
        finally:
            path.unlink(missing_ok=True)

    def opened(self) -> AbstractContextManager[IO[bytes]]:
        return self._bucket.opened(self._name)


def open_target(settings: Settings, where: str, *, is_forced: bool = False) -> BackupTarget:
    """`where` is a path, or s3://bucket/key. Raises `SettingRefused`."""
    if not where.startswith(BUCKET):
        return FileTarget(Path(where), is_forced=is_forced)
    bucket, key = split(where)
    if not bucket or not key or key.endswith("/"):
        raise BackupRefused(
            f"{where} must name a file in a bucket, such as s3://bucket/kurz.backup."
        )
    opened = open_bucket(settings, bucket, "")
    return BucketTarget(opened, key, where, settings.backup_dir, is_forced=is_forced)


class BackupFolder:
    """The scheduled backups in a folder. It is created if it is missing, but not its parent: if a
    disk is not mounted, nothing should be written to the mount point. `is_shared`: other machines
    may write to it too."""

    def __init__(self, path: Path, *, is_shared: bool) -> None:
        self._path = path
        self._left_seconds = LEFT_SECONDS if is_shared else 0

    def target(self, name: str) -> BackupTarget:
        try:
            self._path.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise BackupUnavailable(f"{self._path} cannot be used: {error.strerror}.") from None
        # One is made at a time, except if an instance was suspended.
        remove_left(self._path.glob(".kurz-*.backup.*.part"), self._left_seconds)
        return self.existing(name)

    def existing(self, name: str) -> BackupTarget:
        return FileTarget(self._path / name)

    def check(self) -> None:
        """Raises `BackupUnavailable` if no backup could be stored."""
        folder = self._path if self._path.exists() else self._path.parent
        if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            raise BackupUnavailable(
                f"{folder} is not a folder that kurz can write to. Create it, or change"
                " KURZ_BACKUP."
            )

    def list(self) -> list[str]:
        return sorted(path.name for path in self._path.iterdir() if path.is_file())

    def remove(self, name: str) -> None:
        (self._path / name).unlink(missing_ok=True)


class BackupPrefix:
    """The scheduled backups in a bucket."""

    def __init__(self, bucket: "BackupBucket", shown: str, staging: Path) -> None:
        self._bucket = bucket
        self._shown = shown
        self._staging = staging
        self.list = bucket.list
        self.remove = bucket.remove
        self.check = bucket.check

    def target(self, name: str) -> BackupTarget:
        return self.existing(name)

    def existing(self, name: str) -> BackupTarget:
        shown = f"{self._shown}/{name}"
        return BucketTarget(self._bucket, name, shown, self._staging, is_forced=False)


def open_storage(settings: Settings) -> BackupFolder | BackupPrefix | None:
    """Where scheduled backups go; None: nowhere. It is not contacted yet."""
    place = settings.backup
    if place is None or not place.startswith(BUCKET):
        is_shared = Engine(settings).has_instances
        return None if place is None else BackupFolder(Path(place), is_shared=is_shared)
    return BackupPrefix(open_bucket(settings, *split(place)), place, settings.backup_dir)


def open_bucket(settings: Settings, bucket: str, prefix: str) -> "BackupBucket":
    try:
        from kurz.outbound.backup_bucket import BackupBucket
    except ImportError:
        raise SettingRefused(f"Backups in a bucket require another package. {NEEDED}") from None
    return BackupBucket(bucket, prefix, **access_of(settings, "backup"))


def keys_of(settings: Settings) -> BackupKeys:
    return BackupKeys(
        settings.backup_passphrase, settings.backup_recipients, settings.backup_identity
    )
