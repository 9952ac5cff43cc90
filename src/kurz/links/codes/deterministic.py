"""Codes computed from the URL: the same URL in the same workspace has the same code, for anyone
who knows the rule, with no database at all."""

import hashlib

from kurz.links.codes.alphabets import base58

LENGTH = 10
SALTS = 10  # attempts when the code is taken by another URL


def generate(canonical_url: str, workspace_id: int, salt: int = 0) -> str:
    text = f"{canonical_url}|{workspace_id}"
    if salt:
        text += f"|{salt}"
    digest = hashlib.sha256(text.encode()).digest()
    return base58(int.from_bytes(digest[:16], "big"))[:LENGTH]
