"""The sockets of this process."""

from pathlib import Path


def open_sockets() -> int:
    descriptors = Path("/proc/self/fd").iterdir()
    return sum("socket:" in str(it.readlink()) for it in descriptors if it.is_symlink())
