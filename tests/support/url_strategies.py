"""URLs for properties of Hypothesis, their parts, and why a URL is refused."""

import re

import pytest
from hypothesis import strategies as st

from kurz.links import urls
from kurz.links.errors import UrlRefused

LOCATION = re.compile(r"https?://[\x21-\x7e]+")
HOST = re.compile(r"https?://([^/]+)")

# Text near the border between what is accepted and what is not.
ODD_PIECES = [
    *("/", "//", "/./", "/../", "/%2e/", "?", "&", "=", "#", ":", "@", ".", "%", "%2F", "%zz", "+"),
    *(";", "'", '"', "<", "`", "{", "|", "^", "~", "[", "]", "a", "B", "b=1", "ü", "ß", "ẞ", "İ"),
    *(
        "ﬃ",
        "路",
        "😀",
        "\xad",
        "\u200c",
        "\u2060",
        "。",
        "\uff0e",
        "１",
        "0x7f",
        "127.0.0.1",
        "xn--",
    ),
    *(":80", ":443", ":0", "example", ".com", "www.", "[::1]", "%41", "%00", " ", "\\", "\t"),
]
ASCII_NAMES = st.text("abcABZ019-_%7e.~", max_size=4)


def tails() -> st.SearchStrategy[str]:
    return st.lists(st.one_of(st.sampled_from(ODD_PIECES), st.text(max_size=3)), max_size=12).map(
        "".join
    )


def addresses() -> st.SearchStrategy[str]:
    """Mostly acceptable URLs, so that properties of accepted ones are really tried."""
    schemes = st.sampled_from(["http://", "https://", "HTTP://", "hTTps://"])
    hosts = st.sampled_from(
        [
            "example.com",
            "EXAMPLE.com.",
            "münchen.example",
            "1.2.3.4",
            "[2001:DB8::1]",
            "a",
            "faß.de",
        ]
    )
    ports = st.sampled_from(["", ":", ":80", ":443", ":8080", ":00080"])
    paths = st.tuples(st.sampled_from(["", "/", "?", "#", "/a", "//"]), tails()).map("".join)
    return st.tuples(schemes, hosts, ports, paths).map("".join)


def queries() -> st.SearchStrategy[str]:
    piece = st.tuples(ASCII_NAMES, st.sampled_from(["", "=", "=1", "=x=y", "=%C3%BC"])).map("".join)
    return st.lists(piece, max_size=8).map("&".join)


def judged(url: str) -> urls.JudgedUrl | None:
    """None for a URL that is refused."""
    try:
        return urls.judge(url)
    except UrlRefused:
        return None


def names_of(query: str) -> list[bytes]:
    return [piece.partition("=")[0].encode() for piece in query.split("&")]


def query_of(url: str) -> str:
    return url.partition("#")[0].partition("?")[2]


def host_of(url: str) -> str:
    match = HOST.match(url)
    assert match is not None
    return match[1]


def refusal(url: str, own: tuple[str, ...] = ()) -> str:
    with pytest.raises(UrlRefused) as refused:
        urls.judge(url, own)
    return refused.value.detail
