"""What may be written to a terminal. The variables are not kurz's own, but every program's."""

import os
from typing import TextIO


def has_cursor(stream: TextIO | None) -> bool:
    """Whether a line can be written again, as for progress."""
    return stream is not None and stream.isatty() and not _is_dumb()


def has_colours(stream: TextIO | None) -> bool:
    return has_cursor(stream) and wants_colours()


def wants_colours() -> bool:
    """False for `NO_COLOR` (no-color.org), and for terminals that know no escape sequences."""
    return not os.environ.get("NO_COLOR") and not _is_dumb()


def _is_dumb() -> bool:
    return os.environ.get("TERM") == "dumb"
