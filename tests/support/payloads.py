"""Payloads, and the fields they are put into."""

from collections.abc import Iterator

from data.payloads import FORMULAS, SCRIPTS, SEQUENCES

EVERYTHING = [*SEQUENCES, *FORMULAS, *SCRIPTS]


def addresses(text: str) -> Iterator[str]:
    """URLs with the text in each part; many are none."""
    yield f"https://example.com/{text}"
    yield f"https://example.com/?q={text}"
    yield f"https://example.com/#{text}"
    yield f"https://{text}.example.com/"
    yield f"https://example.com/{text}?{text}#{text}"
    yield text


def in_headers(texts: list[str]) -> list[str]:
    """A field of HTTP can hold no others."""
    return [text for text in texts if text.isprintable() and text.strip() == text]


def cut(text: str, longest: int) -> str:
    return text[:longest]
