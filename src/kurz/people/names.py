"""Names that people give: of workspaces and keys."""

import unicodedata

from kurz.people.errors import NameRefused

MAX_LENGTH = 100


def check_name(name: str) -> None:
    """Raises `NameRefused` for text that not every page and terminal can show."""
    if not name.strip() or len(name) > MAX_LENGTH:
        raise NameRefused(f"A name must have 1 to {MAX_LENGTH} characters.", field="name")
    if any(unicodedata.category(letter) in ("Cc", "Cf", "Cs") for letter in name):
        raise NameRefused("A name cannot contain control characters.", field="name")
