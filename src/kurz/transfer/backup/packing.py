"""Writes the file of a backup."""

import gzip
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from io import BytesIO
from typing import BinaryIO, cast

from kurz.transfer.backup.manifest import Manifest, encode
from kurz.transfer.backup.trailer import CHUNK_BYTES, DigestWriter, Readable, Writable

MANIFEST, DATABASE, SECRET, SUMS = "manifest.json", "kurz.db", "secret", "SHA256SUMS"
JOURNAL = "journal/"
TABLES = "tables.json"  # in a portable backup
LEVEL = 1  # three times as fast as the default, for a file that is a tenth larger


class _Summed:
    """At most this many bytes of a file, which may grow, and their digest."""

    def __init__(self, file: Readable | BinaryIO, size: int) -> None:
        self.digest = sha256()
        self._file = file
        self._left = size

    def read(self, size: int) -> bytes:
        data = self._file.read(min(size, self._left))
        self._left -= len(data)
        self.digest.update(data)
        return data


class Pack:
    """`add` in this order: the manifest, the database or its tables and rows, the secret, the
    journals."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self._sums: list[str] = []

    def add(self, name: str, file: Readable | BinaryIO, size: int, modified_at: float) -> None:
        """Raises `OSError` if the file is shorter than that."""
        found = tarfile.TarInfo(name)
        found.size, found.mtime, found.mode = size, modified_at, 0o600
        summed = _Summed(file, size)
        self._tar.addfile(found, cast("BinaryIO", summed))
        self._sums.append(f"{summed.digest.hexdigest()}  {name}\n")

    def add_bytes(self, name: str, data: bytes, modified_at: float) -> None:
        self.add(name, BytesIO(data), len(data), modified_at)

    def add_sums(self, modified_at: float) -> None:
        """In the form that `sha256sum --check` reads."""
        self.add_bytes(SUMS, "".join(self._sums).encode(), modified_at)


@contextmanager
def packed(file: Writable, manifest: Manifest) -> Iterator[Pack]:
    """The file is complete after the block, unless that fails."""
    summed, at = DigestWriter(file), manifest.created_at.timestamp()
    squeezed = gzip.GzipFile("", "wb", LEVEL, cast("BinaryIO", summed), mtime=0)
    tar = tarfile.open(  # noqa: SIM115  closed only if it is complete
        fileobj=squeezed,
        mode="w|",
        bufsize=CHUNK_BYTES,
        format=tarfile.PAX_FORMAT,
    )
    pack = Pack(tar)
    try:
        pack.add_bytes(MANIFEST, encode(manifest), at)
        yield pack
        pack.add_sums(at)
        tar.close()
        squeezed.close()
        summed.end()
    except BaseException:
        for part in tar, squeezed:  # otherwise they would write when they are freed
            with suppress(OSError, ValueError):
                part.close()
        raise
