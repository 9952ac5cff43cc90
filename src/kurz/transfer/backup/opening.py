"""Reads the file of a backup, once, from its beginning to its end. Nothing in it is trusted
before its end has been checked."""

import gzip
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import BinaryIO, cast

from kurz.errors import BackupBroken
from kurz.transfer.backup.manifest import MAX_MANIFEST_BYTES, PORTABLE, SQLITE, Manifest, decode
from kurz.transfer.backup.packing import DATABASE, MANIFEST, SECRET, SUMS, TABLES
from kurz.transfer.backup.trailer import CHUNK_BYTES, DigestReader, Readable

MAX_SUMS_BYTES = 64 * 1024 * 1024  # of 600,000 journal files
MAX_SECRET_BYTES = 64 * 1024
_DAMAGED = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, UnicodeDecodeError)
_OTHERS = r"|secret|journal/(installation|[0-9a-f]{32}\.(clicks|counted))"
_NAMES = {
    SQLITE: re.compile(r"kurz\.db" + _OTHERS),
    PORTABLE: re.compile(r"tables\.json|rows/[a-z_]+/[0-9]{8,}" + _OTHERS),
}
_NEEDED = {SQLITE: DATABASE, PORTABLE: TABLES}


@dataclass
class PackedFile:
    """A file in a backup. It is read in chunks, or not at all."""

    name: str
    size: int
    modified_at: float
    chunks: Iterator[bytes]

    def read(self, most_bytes: int) -> bytes:
        if self.size > most_bytes:
            raise BackupBroken(f"The backup is damaged: {self.name} is too large.")
        return b"".join(self.chunks)


def ignore(_: Manifest, __: PackedFile) -> None:
    """For callers that only check a backup."""


def read_pack(
    file: Readable | BinaryIO, handle: Callable[[Manifest, PackedFile], None] = ignore
) -> Manifest:
    """Calls `handle` for the database or each part of it, the secret and each journal. Only when
    this returns is it certain that they are what was packed. Raises `BackupBroken` and
    `BackupRefused`."""
    whole = DigestReader(file)
    try:
        manifest = _read_members(whole, handle)
    except _DAMAGED:
        raise BackupBroken(
            "The backup is damaged or incomplete, or the file is not a backup of kurz."
        ) from None
    if not whole.is_intact():
        raise BackupBroken("The backup is damaged: its digest does not match its content.")
    return manifest


def _read_members(whole: DigestReader, handle: Callable[[Manifest, PackedFile], None]) -> Manifest:
    manifest: Manifest | None = None
    sums: dict[str, str] = {}
    squeezed = gzip.GzipFile(fileobj=cast("BinaryIO", whole), mode="rb")
    with tarfile.open(fileobj=squeezed, mode="r|", bufsize=CHUNK_BYTES) as tar:
        for found in tar:
            content = tar.extractfile(found) if found.isreg() else None
            digest = sha256()
            member = PackedFile(
                found.name, found.size, found.mtime, _chunks(content, digest.update)
            )
            if member.name == SUMS and manifest is not None:
                _check_sums(member.read(MAX_SUMS_BYTES), sums)
                break
            if manifest is None:
                manifest = _manifest_of(member)
            elif (
                _NAMES[manifest.kind].fullmatch(member.name) and content and member.name not in sums
            ):
                handle(manifest, member)
                for _ in member.chunks:
                    pass
            else:
                raise BackupBroken("The backup is damaged: it contains an unexpected file.")
            sums[member.name] = digest.hexdigest()
        else:
            raise EOFError
    if _NEEDED[manifest.kind] not in sums or manifest.has_secret != (SECRET in sums):
        raise BackupBroken("The backup is damaged: it is incomplete.")
    while squeezed.read(CHUNK_BYTES):
        pass
    return manifest


def _chunks(content: Readable | BinaryIO | None, note: Callable[[bytes], None]) -> Iterator[bytes]:
    while content is not None and (chunk := content.read(CHUNK_BYTES)):
        note(chunk)
        yield chunk


def _manifest_of(member: PackedFile) -> Manifest:
    if member.name != MANIFEST:
        raise BackupBroken("The file is not a backup of kurz.")
    return decode(member.read(MAX_MANIFEST_BYTES))


def _check_sums(data: bytes, found: dict[str, str]) -> None:
    if data.decode() != "".join(f"{digest}  {name}\n" for name, digest in found.items()):
        raise BackupBroken("The backup is damaged: a digest does not match its file.")
