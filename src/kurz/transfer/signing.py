"""Signs archive files, so that somebody who can write to the folder or bucket cannot create links
that way. The signature is in the comment of the gzip header, so that any tool can unpack the file
(`docs/adr/0025-signed-archives.md`)."""

import gzip
import hashlib
import hmac

_PURPOSE = b"archive-file-v1"
# gzip, deflate, “a comment follows”; no time, no hints, no system.
_HEADER = b"\x1f\x8b\x08\x10" + bytes(4) + b"\x00\xff"
_PLAIN_HEADER_BYTES = 10  # of `gzip.compress`: without a name and a comment
_COMMENT = b"kurz archive, hmac-sha256 "
_DIGEST_DIGITS = 64
_SIGNED_HEADER_BYTES = len(_HEADER) + len(_COMMENT) + _DIGEST_DIGITS + 1


class Signer:
    """Signs with a key derived from the installation's own, which is in the database and its
    backups. The name is signed too, so that one file cannot replace another."""

    def __init__(self, installation_key: bytes) -> None:
        self._key = hmac.digest(installation_key, _PURPOSE, hashlib.sha256)

    def pack(self, name: str, data: bytes) -> bytes:
        """The file of that name, signed."""
        body = gzip.compress(data, mtime=0)[_PLAIN_HEADER_BYTES:]
        return _HEADER + _COMMENT + self._digest(name, body) + b"\0" + body

    def is_signed(self, name: str, file: bytes) -> bool:
        """Whether this installation has written this file under this name. Nothing is unpacked."""
        header, body = file[:_SIGNED_HEADER_BYTES], memoryview(file)[_SIGNED_HEADER_BYTES:]
        wanted = _HEADER + _COMMENT + self._digest(name, body) + b"\0"
        return hmac.compare_digest(header, wanted)

    def _digest(self, name: str, body: bytes | memoryview) -> bytes:
        digest = hmac.new(self._key, f"{name}\0".encode(), hashlib.sha256)
        digest.update(body)
        return digest.hexdigest().encode()
