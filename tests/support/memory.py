"""Temporary files in memory, where there is room: what is thrown away waits for no disk."""

import os
import shutil
import tempfile
from pathlib import Path

_FOLDER = Path("/dev/shm")  # noqa: S108  the system's own, for this
_NEEDED_BYTES = 6 * 1024**3


def use() -> None:
    """Of this process and those it starts. `TMPDIR` chooses another place."""
    if "TMPDIR" in os.environ or not _FOLDER.is_dir():
        return
    if shutil.disk_usage(_FOLDER).free >= _NEEDED_BYTES:
        os.environ["TMPDIR"] = str(_FOLDER)
        tempfile.tempdir = None
