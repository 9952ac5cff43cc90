"""Output files: written under another name first, and never through a symbolic link."""

import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from kurz.errors import Invalid


class OutputRefused(Invalid):
    title = "Cannot write to this file"


def open_new(path: Path) -> BinaryIO:
    """A file that was not there before, readable by its owner alone. Raises `FileExistsError` for
    anything of that name, a symbolic link too."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o600), "wb")


@contextmanager
def written_whole(
    path: Path, *, keeps_partial: bool = False, check: Callable[[Path], None] | None = None
) -> Iterator[BinaryIO]:
    """A file that gets its name only when it is complete and on disk. `keeps_partial`: also if its
    writer fails, for results that are useful so far. Until then it has a random name, which no
    other writer and no other file has. `check` reads it before it gets its name, and raises if it
    should not."""
    _check_target(path)
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    with open_new(unfinished) as file:
        try:
            try:
                yield file
            except BaseException:
                if keeps_partial:
                    _publish(file, unfinished, path)
                raise
            if check is not None:
                file.flush()
                os.fsync(file.fileno())
                check(unfinished)
            _publish(file, unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)


def _publish(file: BinaryIO, unfinished: Path, path: Path) -> None:
    """A rename replaces a symbolic link and does not follow it."""
    file.flush()
    os.fsync(file.fileno())
    unfinished.rename(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """A new name in a folder survives a loss of power from then on."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check_target(path: Path) -> None:
    """Devices and pipes would be replaced by a file, and a link would no longer be one."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise OutputRefused(
            f"{path} is a symbolic link. kurz does not write through symbolic links. Choose"
            " a regular file."
        )
    if not stat.S_ISREG(mode):
        raise OutputRefused(f"{path} is not a regular file. Choose another one.")


def read_regular(path: Path, most_bytes: int) -> bytes | None:
    """The bytes of a regular file. None if it is not one, or has more than `most_bytes`. Symbolic
    links are not followed, and pipes are not waited for."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    if not stat.S_ISREG(path.lstat().st_mode):
        return None
    with os.fdopen(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return None
        data = file.read(most_bytes + 1)
    return data if len(data) <= most_bytes else None
