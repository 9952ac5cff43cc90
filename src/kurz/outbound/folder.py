"""An archive in a folder."""

import asyncio
import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

from kurz.files import open_new, read_regular, sync_folder
from kurz.links.ending.archives import MAX_FILE_BYTES, StoredFile
from kurz.links.errors import ArchiveFileBroken, ArchiveUnavailable

P = ParamSpec("P")
T = TypeVar("T")

_UNFINISHED = ".part"


class ArchiveFolder:
    """The `ArchiveFiles` in a folder. It is created if it is missing, but not its parent: if a disk
    is not mounted, nothing should be written to the mount point."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def check(self) -> None:
        await self._call(self._check)

    async def write(self, name: str, data: bytes) -> None:
        await self._call(self._write, name, data)

    async def read(self, name: str) -> bytes | None:
        return await self._call(self._read, name)

    async def list(self) -> Sequence[StoredFile]:
        return await self._call(self._list)

    async def remove(self, name: str) -> None:
        await self._call(self._remove, name)

    async def _call(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await asyncio.to_thread(work, *args, **kwargs)
        except OSError as error:
            raise ArchiveUnavailable(
                f"The archive {self._path} cannot be used: {error.strerror}."
            ) from error

    def _check(self) -> None:
        place = self._path if self._path.exists() else self._path.parent
        if not place.is_dir():
            raise _os_error(errno.ENOTDIR if place.exists() else errno.ENOENT)
        if not os.access(place, os.R_OK | os.W_OK | os.X_OK):
            raise _os_error(errno.EACCES)

    def _write(self, name: str, data: bytes) -> None:
        self._make()
        unfinished = self._path / (name + _UNFINISHED)
        with open_new(unfinished) as file:
            try:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                unfinished.rename(self._path / name)
            except OSError:
                unfinished.unlink(missing_ok=True)
                raise
        sync_folder(self._path)

    def _make(self) -> None:
        try:
            self._path.mkdir(mode=0o700)
        except FileExistsError:
            return
        sync_folder(self._path.parent)

    def _read(self, name: str) -> bytes | None:
        try:
            data = read_regular(self._path / name, MAX_FILE_BYTES)
        except FileNotFoundError:
            return None
        if data is None:
            raise ArchiveFileBroken(
                f"{name} is too large for an archive file, or not a regular file."
            )
        return data

    def _list(self) -> Sequence[StoredFile]:
        try:
            with os.scandir(self._path) as entries:
                found = [
                    StoredFile(it.name, it.stat(follow_symlinks=False).st_size)
                    for it in entries
                    if it.is_file(follow_symlinks=False)
                ]
        except FileNotFoundError:
            return []
        return sorted(found)

    def _remove(self, name: str) -> None:
        for path in self._path / name, self._path / (name + _UNFINISHED):
            path.unlink(missing_ok=True)


def _os_error(number: int) -> OSError:
    return OSError(number, os.strerror(number))
