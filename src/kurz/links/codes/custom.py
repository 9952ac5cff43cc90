"""Codes that people choose."""

import re

from kurz.links.codes.words import is_reserved
from kurz.links.errors import CustomCodeRefused

# The form of any code: an imported one may be shorter or longer, and may have more characters.
CODE_PATTERN = r"[A-Za-z0-9._~-]{1,128}"
_CODE = re.compile(CODE_PATTERN)
_CUSTOM = re.compile(r"[A-Za-z0-9_-]{3,64}")


def check(custom_code: str) -> None:
    """Raises `CustomCodeRefused` unless the code may be chosen."""
    if not _CUSTOM.fullmatch(custom_code):
        raise CustomCodeRefused(
            "A custom code must have 3 to 64 characters: letters, digits, hyphens and underscores."
        )
    if is_reserved(custom_code):
        raise CustomCodeRefused(f"“{custom_code}” is a reserved word. Choose another code.")


def is_possible(code: str) -> bool:
    """False if this cannot be a code, so that it need not be looked up."""
    return _CODE.fullmatch(code) is not None
