"""The address of the server of a data folder, for commands that print short URLs beside it."""

import os
import re
import secrets
from pathlib import Path

FILE_NAME = "address"
MAX_BYTES = 1024
_ADDRESS = re.compile(r"https?://[\x21-\x7e]+")


def write(data_dir: Path, address: str) -> None:
    """Kept after the server has stopped, because its port is still the best guess. A failure to
    write it is ignored: a server must not fail because of it."""
    fresh = data_dir / f"{FILE_NAME}.{secrets.token_hex(4)}.part"
    try:
        file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "w") as opened:
            opened.write(f"{address}\n")
        fresh.replace(data_dir / FILE_NAME)
    except OSError:
        fresh.unlink(missing_ok=True)


def read(data_dir: Path) -> str | None:
    """None: no server has run on this folder, or the file has no address."""
    try:
        with (data_dir / FILE_NAME).open("rb") as opened:
            text = opened.read(MAX_BYTES).decode("ascii").removesuffix("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return text if _ADDRESS.fullmatch(text) else None
