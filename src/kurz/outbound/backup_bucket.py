"""Backups in a bucket of S3, or of any compatible service. Needs the extra `s3`. For a thread that
may wait."""

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import obstore
from obstore.exceptions import BaseError, NotFoundError

from kurz.errors import BackupNotFound, BackupUnavailable
from kurz.outbound.bucket import open_store
from kurz.outbound.bucket_errors import reason_of

PART_BYTES = 8 * 1024 * 1024  # of an upload; there may be 10,000
MANY_PARTS = 9000


class BackupBucket:
    """`prefix` comes before every name."""

    def __init__(self, bucket: str, prefix: str, **access: str | None) -> None:
        self._shown = f"s3://{bucket}/{prefix}" if prefix else f"s3://{bucket}"
        self._store = open_store(
            bucket,
            prefix,
            f"The bucket of backups {self._shown}",
            "KURZ_BACKUP_S3",
            **access,
        )

    def check(self) -> None:
        """Raises `BackupUnavailable` if it cannot be read."""
        with self._asking():
            next(iter(self._store.list(chunk_size=1)), None)

    def has(self, name: str) -> bool:
        with self._asking():
            return self._size(name) is not None

    def upload(self, name: str, path: Path) -> None:
        """The file appears completely, or not at all."""
        size = path.stat().st_size
        with self._asking(), path.open("rb") as file:
            part = max(PART_BYTES, size // MANY_PARTS)
            obstore.put(self._store, name, file, chunk_size=part)
            stored = self._size(name)
        if stored != size:
            raise BackupUnavailable(
                f"{self._shown} has stored {stored} of {size} bytes. Try again."
            )

    @contextmanager
    def opened(self, name: str) -> Iterator[IO[bytes]]:
        """Raises `BackupNotFound`."""
        if not self.has(name):
            raise BackupNotFound(f"There is no {name} in {self._shown}.")
        with self._asking():
            reader = obstore.open_reader(self._store, name)

        def read(size: int) -> bytes:
            with self._asking():
                return bytes(reader.read(size))

        with io.BufferedReader(_Object(read)) as file:
            yield cast("IO[bytes]", file)

    def list(self) -> Sequence[str]:
        with self._asking():
            return sorted(item["path"] for page in self._store.list() for item in page)

    def remove(self, name: str) -> None:
        with self._asking():
            self._store.delete(name)

    def _size(self, name: str) -> int | None:
        try:
            return obstore.head(self._store, name)["size"]
        except (FileNotFoundError, NotFoundError):
            return None

    @contextmanager
    def _asking(self) -> Iterator[None]:
        try:
            yield
        except (BaseError, OSError) as error:
            raise BackupUnavailable(
                f"The bucket of backups {self._shown} cannot be used: {reason_of(error)}"
            ) from error


class _Object(io.RawIOBase):
    """An object as a file that can be read in pieces."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
