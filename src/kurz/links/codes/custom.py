"""Codes that somebody chose."""

import re

from kurz.links.codes.words import is_reserved
from kurz.links.errors import CustomCodeRefused

_CUSTOM = re.compile(r"[A-Za-z0-9_-]{3,64}")


def check(custom_code: str) -> None:
    """Raises `CustomCodeRefused` unless the code may be chosen."""
    if not _CUSTOM.fullmatch(custom_code):
        raise CustomCodeRefused(
            "A custom code has 3 to 64 characters out of letters, digits, hyphen and underscore."
        )
    if is_reserved(custom_code):
        raise CustomCodeRefused(f"“{custom_code}” is a word that kurz keeps for itself.")
