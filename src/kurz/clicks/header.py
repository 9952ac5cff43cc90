"""The header of a journal's segment: its id, and when it was created."""

import re
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import Final
from zlib import crc32

MAGIC: Final = b"kurzclk1"
SUFFIX: Final = ".clicks"

_FIELDS = Struct("<8s16sQ")
_CHECKSUM = Struct("<I")
HEADER_BYTES: Final = _FIELDS.size + _CHECKSUM.size

_NAME = re.compile(rf"[0-9a-f]{{32}}{re.escape(SUFFIX)}")


@dataclass(frozen=True, slots=True)
class Header:
    id: bytes  # 16 random bytes, which the name of the file shows too
    created_at_micros: int

    def encode(self) -> bytes:
        fields = _FIELDS.pack(MAGIC, self.id, self.created_at_micros)
        return fields + _CHECKSUM.pack(crc32(fields))

    @classmethod
    def decode(cls, data: bytes) -> "Header":
        """Raises `ValueError` if this is not a header."""
        fields, checksum = data[: _FIELDS.size], data[_FIELDS.size : HEADER_BYTES]
        if checksum != _CHECKSUM.pack(crc32(fields)):
            raise ValueError("the checksum does not match")
        magic, identity, created_at = _FIELDS.unpack(fields)
        if magic != MAGIC:
            raise ValueError("another format")
        return cls(identity, created_at)


def path_of(folder: Path, identity: bytes) -> Path:
    return folder / f"{identity.hex()}{SUFFIX}"


def is_segment(name: str) -> bool:
    return _NAME.fullmatch(name) is not None
