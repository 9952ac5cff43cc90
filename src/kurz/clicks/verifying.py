"""Reads a whole segment of a journal, and changes nothing."""

from pathlib import Path

from kurz.clicks.chunks import read_chunk
from kurz.clicks.segments import Corrupt, check_end, find_header, is_held

AT_ONCE = 20_000  # clicks


def find_damage(path: Path, counted: int) -> str | None:
    """What is wrong with a segment that is counted to this offset; None: nothing. An unfinished
    record at its end is not damage. Raises `FileNotFoundError` if it was removed meanwhile."""
    was_held = is_held(path)  # first: then nothing is added to a segment that is not
    try:
        header = find_header(path)
        if header is not None and header.id.hex() != path.stem:
            return "its header belongs to another segment"
        end = 0
        while (chunk := read_chunk(path, end, AT_ONCE)).records:
            end = chunk.end
        if not was_held:
            check_end(path, end)
    except Corrupt as damage:
        return f"it cannot be read from byte {damage.offset:,} on"
    if counted > max(end, path.stat().st_size):
        return f"it ends at byte {end:,}, but the database has counted its clicks to {counted:,}"
    return None
