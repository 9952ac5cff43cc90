"""Codes for rows without one. They are computed from the URL and a secret: running an import again
makes the same codes and so no duplicates, and nobody else can guess them."""

import hashlib
import hmac

from kurz.links.codes import deterministic
from kurz.links.codes.alphabets import base62
from kurz.links.codes.words import is_offensive, is_reserved
from kurz.links.model import Link, Strategy

ATTEMPTS = {Strategy.DETERMINISTIC: deterministic.SALTS, Strategy.RANDOM: 5}
_WORDS = 100  # unwanted codes in a row: this does not happen


class RowCodes:
    def __init__(self, key: bytes, length: int) -> None:
        self._key = key
        self._length = length

    def code(self, link: Link, attempt: int) -> str:
        """The code to try at this attempt, of `ATTEMPTS[link.strategy]`."""
        if link.strategy is Strategy.DETERMINISTIC:
            return deterministic.generate(link.canonical_url, link.workspace_id, salt=attempt)
        whose = f"import-v1\0{link.workspace_id}\0{link.owner_id}\0{attempt}\0"
        for salt in range(_WORDS):
            text = f"{whose}{salt}\0{link.original_url}"
            digest = hmac.digest(self._key, text.encode(), hashlib.sha256)
            code = base62(int.from_bytes(digest) % 62**self._length, self._length)
            if not (is_reserved(code) or is_offensive(code)):
                break
        return code
