"""The language in which a visitor reads a page."""

import functools
import re

ENGLISH, GERMAN = "en", "de"
_KNOWN = 256  # cached headers; clients can send any number of different ones
_PIECE = re.compile(rb"\s*(en|de)\b[a-z0-9-]*\s*(?:;\s*q\s*=\s*([01](?:\.[0-9]{0,3})?)\s*)?")


@functools.lru_cache(_KNOWN)
def language_of(accepted: bytes) -> str:
    """The supported language that an Accept-Language header prefers, else English."""
    pieces = (_PIECE.fullmatch(piece) for piece in accepted.lower().split(b","))
    liked = [(float(piece[2] or 1), piece[1].decode()) for piece in pieces if piece]
    best, language = max(liked, key=lambda it: it[0], default=(0.0, ENGLISH))
    return language if best > 0 else ENGLISH
