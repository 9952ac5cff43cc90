"""The checksum of where a code leads. A store keeps it beside each link, so that a destination that
changed without a write is found. It has a key, so that no text of a link can be chosen to match
another one's checksum."""

import hashlib

KEY_BYTES = 16
CHECKSUM_BYTES = 8  # one wrong value of 2**64 would go unnoticed; a link grows by 9 bytes

_Text = bytes | bytearray


class Checksums:
    """Computes checksums with one key. Whether a link has a location of its own counts too."""

    def __init__(self, key: bytes) -> None:
        self._keyed = hashlib.blake2b(key=key, digest_size=CHECKSUM_BYTES)

    def of(
        self, workspace_id: int, short_code: str, original_url: str, location: str | None
    ) -> bytes:
        return self.of_bytes(
            workspace_id,
            short_code.encode(),
            original_url.encode(),
            None if location is None else location.encode(),
        )

    def of_bytes(
        self, workspace_id: int, short_code: _Text, original_url: _Text, location: _Text | None
    ) -> bytes:
        """The same for texts as a database stores them, which may be damaged."""
        computed = self._keyed.copy()  # half the cost of a new one
        # With the lengths, no two links have the same bytes.
        if location is None:
            sizes = b"%d %d %d-" % (workspace_id, len(short_code), len(original_url))
            computed.update(sizes + short_code + original_url)
        else:
            sizes = b"%d %d %d+" % (workspace_id, len(short_code), len(original_url))
            computed.update(sizes + short_code + original_url + location)
        return computed.digest()


def seal_key(key: bytes) -> bytes:
    """The key in the form that is stored: a damaged one is noticed."""
    return key + _sum_of(key)


def open_key(stored: bytes) -> bytes | None:
    """The key; None: it is damaged."""
    key = stored[:KEY_BYTES]
    return key if stored == seal_key(key) and len(key) == KEY_BYTES else None


def _sum_of(key: bytes) -> bytes:
    return hashlib.blake2b(key, digest_size=CHECKSUM_BYTES).digest()
