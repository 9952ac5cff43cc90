"""Random codes: `length` Base62 characters from the system's secure generator."""

import secrets

from kurz.links.codes.alphabets import base62


def generate(length: int) -> str:
    return base62(secrets.randbelow(62**length), length)
