"""Judges every URL that enters kurz and puts it into the form that codes are computed from.

Parsing, percent-encoding and IDNA are the WHATWG standard's, by ada-url.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import unquote_plus

from ada_url import normalize_url

from kurz.links.errors import UrlFlaw, UrlRefused

MAX_URL_BYTES = 2048
MAX_HOST_LENGTH = 253  # what DNS can carry, as for a label
MAX_LABEL_LENGTH = 63
DEFAULT_PORTS = {"http": "80", "https": "443"}

# What a parser would drop or rewrite without a word, so that what a person reads is not where
# they would go: controls, all spaces and line ends, backslashes, invisible and direction marks.
_FORBIDDEN = re.compile(
    "[\x00-\x20\x7f-\xa0\xad\\\\\u061c\u1680\u2000-\u200b\u200e\u200f\u2028-\u202f\u205f-\u2064\u2066-\u2069"
    "\u3000\ufeff]"
)
_AUTHORITY = re.compile(r"(?i)https?://([^/?#]+)")
_PORT = re.compile(r":[0-9]*\Z")
_IPV4 = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+")
# Takes apart what ada-url serialised: the shape is certain there, and its own getters cost more.
_SERIALISED = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[^\]]+\]|[^/:@]+)(?::(?P<port>[0-9]+))?"
    r"(?P<path>/[^?#]*)(?:\?(?P<query>[^#]*))?(?:#.*)?"
)
# The only form in which they are serialised.
_MAPPED = re.compile(r"\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]")
_VISITOR_PIECE = re.compile(r"[!$%'()*+,\-./0-9:;=?@A-Z\[\]^_`a-z{|}~]+")


@dataclass(frozen=True, slots=True)
class JudgedUrl:
    """`original` as given, `location` as a redirect sends it, `canonical` as codes see it."""

    original: str
    location: str
    canonical: str


@dataclass(frozen=True, slots=True)
class Target:
    """Whom a URL calls: `host` as in a `Host` field, an IPv6 address in brackets; `path` with the
    query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def name(self) -> str:
        """The host as name servers and certificates know it."""
        return self.host.strip("[]").removesuffix(".")

    @property
    def authority(self) -> str:
        is_default = str(self.port) == DEFAULT_PORTS[self.scheme]
        return self.host if is_default else f"{self.host}:{self.port}"

    def is_one_of(self, own_hosts: Collection[str]) -> bool:
        return _is_own(self.host, str(self.port), own_hosts)


def target_of(location: str) -> Target:
    """Takes the `location` of a judged URL apart."""
    parts = _SERIALISED.fullmatch(location)
    if parts is None:
        raise ValueError(location)
    scheme, host, port, path, query = parts.groups()
    number = int(port or DEFAULT_PORTS[scheme])
    return Target(scheme, host, number, path if query is None else f"{path}?{query}")


def judge(original: str, *own_hosts: Collection[str]) -> JudgedUrl:
    """The URL in its three forms, or `UrlRefused` with the reason.

    `own_hosts` are the names kurz itself answers on, lower case: a bare host stands for every
    port, `host:port` for that port alone.
    """
    authority = _check_as_given(original)
    try:
        location = normalize_url(original)
    except ValueError:
        raise UrlRefused(
            UrlFlaw.MALFORMED, "This is not a valid URL. Check it for typos."
        ) from None
    if len(location) > MAX_URL_BYTES:
        raise UrlRefused(
            UrlFlaw.TOO_LONG, f"The URL is longer than {MAX_URL_BYTES} bytes when percent-encoded."
        )
    parts = _SERIALISED.fullmatch(location)
    if parts is None:
        raise UrlRefused(UrlFlaw.CREDENTIALS, "URLs with a user name or password are not accepted.")
    scheme, host, port, path, query = parts.groups()
    _check_host(host, port, authority)
    for hosts in own_hosts:
        if hosts and _is_own(host, port or DEFAULT_PORTS[scheme], hosts):
            raise UrlRefused(UrlFlaw.OWN, "This URL points back to this shortener.")
    return JudgedUrl(original, location, _canonical(scheme, host, port, path, query))


@dataclass(frozen=True, slots=True)
class Address:
    """What a location is made of. `host` is plain, `port` is the one that is called, `path` has no
    query."""

    host: str
    port: str
    path: str
    query: str


def take_apart(location: str) -> Address | None:
    """None: nobody has judged this."""
    parts = _SERIALISED.fullmatch(location)
    if parts is None:
        return None
    scheme, host, port, path, query = parts.groups()
    # As `plain_host`, without its call: most hosts are names, and all are looked up.
    plain = plain_host(host) if host[0] == "[" else host.removesuffix(".")
    return Address(plain, port or DEFAULT_PORTS[scheme], path, query or "")


def plain_host(host: str) -> str:
    """The host of a judged URL by the name that rules and bans know it by: without the dot that may
    end it. `[::ffff:cb00:7109]` is 203.0.113.9 to every system that calls it."""
    if host[0] == "[":
        mapped = _MAPPED.fullmatch(host)
        return host if mapped is None else _dotted(int(mapped[1], 16), int(mapped[2], 16))
    return host.removesuffix(".")


def merge_query(location: str, query: str) -> str:
    """`location` with a visitor's query appended: the link's own parameters win, the fragment
    stays last, and pieces that are not plain ASCII are left out."""
    base, hash_mark, fragment = location.partition("#")
    path, _, own = base.partition("?")
    own_pieces = [piece for piece in own.split("&") if piece]
    own_names = {_read_name(piece) for piece in own_pieces}
    new_pieces = [
        piece
        for piece in query.split("&")
        if _VISITOR_PIECE.fullmatch(piece) and _read_name(piece) not in own_names
    ]
    if not new_pieces:
        return location
    return f"{path}?{'&'.join(own_pieces + new_pieces)}{hash_mark}{fragment}"


def _check_as_given(original: str) -> str:
    """Refuses what a parser would quietly repair; returns the authority as it was written."""
    try:
        size = len(original.encode())
    except UnicodeEncodeError:
        raise UrlRefused(UrlFlaw.TEXT, "The URL is not valid Unicode text.") from None
    if size > MAX_URL_BYTES:
        raise UrlRefused(UrlFlaw.TOO_LONG, f"The URL is longer than {MAX_URL_BYTES} bytes.")
    if _FORBIDDEN.search(original):
        raise UrlRefused(
            UrlFlaw.CHARACTERS, "The URL contains a space, a backslash or an invisible character."
        )
    authority = _AUTHORITY.match(original)
    if authority is None:
        raise UrlRefused(
            UrlFlaw.SCHEME, "The URL must start with http:// or https://, followed by a host."
        )
    if "@" in authority[1]:
        raise UrlRefused(UrlFlaw.CREDENTIALS, "URLs with a user name or password are not accepted.")
    return authority[1]


def _check_host(host: str, port: str | None, authority: str) -> None:
    if port == "0":
        raise UrlRefused(UrlFlaw.PORT, "Port 0 is not valid.")
    if host.startswith("["):
        return
    if _IPV4.fullmatch(host):
        if _PORT.sub("", authority) != host:
            raise UrlRefused(UrlFlaw.ADDRESS, f"Write the IPv4 address in its usual form: {host}.")
        return
    name = host.removesuffix(".")
    labels = name.split(".")
    if len(name) > MAX_HOST_LENGTH or not all(0 < len(x) <= MAX_LABEL_LENGTH for x in labels):
        raise UrlRefused(
            UrlFlaw.HOST, "The host name is not valid: a part of it is empty or too long."
        )
    if any(label.startswith("xn--") and label.rstrip("-") == "xn" for label in labels):
        # The parser lets it through, and no resolver or browser agrees on what it means.
        raise UrlRefused(UrlFlaw.HOST, "The host name is not valid: nothing follows “xn--”.")


def _dotted(high: int, low: int) -> str:
    return f"{high >> 8}.{high & 255}.{low >> 8}.{low & 255}"


def _is_own(host: str, port: str, own_hosts: Collection[str]) -> bool:
    name = host.removesuffix(".")
    if name in own_hosts or f"{name}:{port}" in own_hosts:
        return True
    plain = plain_host(host)
    return plain != name and _is_own(plain, port, own_hosts)


def _canonical(scheme: str, host: str, port: str | None, path: str, query: str | None) -> str:
    pieces = [piece for piece in query.split("&") if piece] if query else []
    pieces.sort(key=_name)
    authority = f"{host}:{port}" if port else host
    return (
        f"{scheme}://{authority}{path.rstrip('/') or '/'}{'?' + '&'.join(pieces) if pieces else ''}"
    )


def _name(piece: str) -> str:
    return piece.partition("=")[0]


def _read_name(piece: str) -> str:
    """The name as a server reads it: `%61` is an `a`."""
    return unquote_plus(_name(piece))
