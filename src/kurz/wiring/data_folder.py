"""Whether the data folder can be used, before anything depends on it."""

import errno
import os
import secrets
import shutil
import stat
from pathlib import Path

from kurz.errors import SettingRefused, WritesFail
from kurz.files import open_new
from kurz.settings.model import Settings

PROBE_BYTES = 64 * 1024  # more than the smallest write of the database, or of the journal
_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM)
_OTHER_KIND = (errno.ENOTDIR, errno.EISDIR, errno.EEXIST)


def check_data_folder(settings: Settings) -> None:
    """Writes a file there and removes it. Raises a `SettingRefused` that says what to do, or
    `WritesFail` if the disk is full. A folder that does not exist must be one that can be
    created."""
    folder = settings.data_dir
    try:
        if not stat.S_ISDIR(folder.stat().st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        _write(folder)
        _check_files(settings)
    except FileNotFoundError:
        if folder.is_symlink():  # to a disk that is not mounted, for example
            lost = FileNotFoundError(errno.ENOENT, f"{folder.readlink()} does not exist")
            raise unusable(folder, lost) from None
        _check_parent(folder)
    except OSError as error:
        raise unusable(folder, error) from None


def unusable(folder: Path, error: OSError) -> SettingRefused | WritesFail:
    """A full disk is no wrong setting: the same start succeeds once there is space again."""
    place = folder.absolute()
    reason = error.strerror or str(error)
    is_full = error.errno in _FULL
    if is_full:
        reason += f" ({_free(folder)} free)"
    kind = WritesFail if is_full else SettingRefused
    return kind(
        f"The data folder {place} cannot be used: {reason}. {_advice(error)} or set KURZ_DATA_DIR"
        " to another folder."
    )


def _advice(error: OSError) -> str:
    if error.errno in _FULL:
        return "Free up space,"
    if error.errno in _FORBIDDEN:
        return f"Let the user who runs kurz (ID {os.geteuid()}) read, write and enter it,"
    if error.errno in _OTHER_KIND:
        return "Remove what is there,"
    return "Mount or create it," if error.errno == errno.ENOENT else "Check its permissions,"


def _write(folder: Path) -> None:
    """To the disk, because some file systems notice only then that they are full."""
    path = folder / f".probe.{secrets.token_hex(8)}.part"
    try:
        with open_new(path) as file:
            file.write(bytes(PROBE_BYTES))
            file.flush()
            os.fsync(file.fileno())
    finally:
        path.unlink(missing_ok=True)


def _check_files(settings: Settings) -> None:
    """What was made by another user, such as root, or is of another kind. Files are not opened:
    closing one would drop the locks that SQLite has on it."""
    if settings.database_path.is_dir():
        raise _error(IsADirectoryError, errno.EISDIR, settings.database_path)
    for folder in (
        settings.journal_dir,
        settings.feed_dir,
        settings.backup_dir,
        settings.screening_dir,
    ):
        if folder.exists() and not folder.is_dir():
            raise _error(NotADirectoryError, errno.ENOTDIR, folder)
    for path in (settings.database_path, settings.journal_dir, settings.feed_dir):
        needed = os.R_OK | os.W_OK | (os.X_OK if path.is_dir() else 0)
        if path.exists() and not os.access(path, needed):
            raise _error(PermissionError, errno.EACCES, path)


def _error(kind: type[OSError], number: int, path: Path) -> OSError:
    return kind(number, f"{os.strerror(number)}: {path.name}")


def _check_parent(folder: Path) -> None:
    """The nearest folder that exists."""
    above = folder.absolute().parent
    while not above.exists():
        above = above.parent
    if not os.access(above, os.W_OK | os.X_OK):
        raise SettingRefused(
            f"The data folder {folder.absolute()} cannot be created in {above}:"
            f" {os.strerror(errno.EACCES)}. Create it for the user who runs kurz (ID"
            f" {os.geteuid()}), or set KURZ_DATA_DIR to another folder."
        )


def _free(folder: Path) -> str:
    try:
        return f"{shutil.disk_usage(folder).free / 1024**2:.1f} MiB"
    except OSError:
        return "unknown space"
