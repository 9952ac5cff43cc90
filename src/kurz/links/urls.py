"""Judges every URL that enters kurz, and converts it to the form that codes are computed from.

Parsing, percent-encoding and IDNA are the WHATWG standard's, by ada-url.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import unquote_plus

from ada_url import idna_to_unicode, normalize_url

from kurz.links.errors import UrlProblem, UrlRefused

MAX_URL_BYTES = 2048
MAX_HOST_LENGTH = 253  # the limits of DNS
MAX_LABEL_LENGTH = 63
DEFAULT_PORTS = {"http": "80", "https": "443"}

# What a parser would silently drop or rewrite, so that a person would go elsewhere than the URL
# says: controls, all spaces and line ends, backslashes, invisible and direction marks.
_FORBIDDEN = re.compile(
    "[\x00-\x20\x7f-\xa0\xad\\\\\u061c\u1680\u2000-\u200b\u200e\u200f\u2028-\u202f\u205f-\u2064\u2066-\u2069"
    "\u3000\ufeff]"
)
_AUTHORITY = re.compile(r"(?i)https?://([^/?#]+)")
_PORT = re.compile(r":[0-9]*\Z")
_IPV4 = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+")
# Splits what ada-url serialised: its form is known, and ada-url's own getters cost more.
_SERIALISED = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[^\]]+\]|[^/:@]+)(?::(?P<port>[0-9]+))?"
    r"(?P<path>/[^?#]*)(?:\?(?P<query>[^#]*))?(?:#.*)?"
)
# The only form in which ada-url serialises them.
_MAPPED = re.compile(r"\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]")
_VISITOR_PIECE = re.compile(r"[!$%'()*+,\-./0-9:;=?@A-Z\[\]^_`a-z{|}~]+")


@dataclass(frozen=True, slots=True)
class JudgedUrl:
    """`original` as given, `location` as a redirect sends it, `canonical` for computing codes."""

    original: str
    location: str
    canonical: str


@dataclass(frozen=True, slots=True)
class RequestTarget:
    """The parts needed to request a URL: `host` as in a `Host` field, an IPv6 address in brackets;
    `path` with the query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def name(self) -> str:
        """The host as in DNS and certificates."""
        return self.host.strip("[]").removesuffix(".")

    @property
    def authority(self) -> str:
        is_default = str(self.port) == DEFAULT_PORTS[self.scheme]
        return self.host if is_default else f"{self.host}:{self.port}"

    def is_one_of(self, own_hosts: Collection[str]) -> bool:
        return _is_own(self.host, str(self.port), own_hosts)


def target_of(location: str) -> RequestTarget:
    """Splits the `location` of a judged URL."""
    parts = _SERIALISED.fullmatch(location)
    if parts is None:
        raise ValueError(location)
    scheme, host, port, path, query = parts.groups()
    number = int(port or DEFAULT_PORTS[scheme])
    return RequestTarget(scheme, host, number, path if query is None else f"{path}?{query}")


def judge(original: str, *own_hosts: Collection[str]) -> JudgedUrl:
    """The URL in its three forms, or `UrlRefused` with the reason.

    `own_hosts` are the names kurz itself answers on, in lower case: a bare host means every port,
    `host:port` only that port.
    """
    authority = _check_as_given(original)
    try:
        location = normalize_url(original)
    except ValueError:
        raise UrlRefused(
            UrlProblem.MALFORMED, "This is not a valid URL. Check it for typos."
        ) from None
    if len(location) > MAX_URL_BYTES:
        raise UrlRefused(
            UrlProblem.TOO_LONG,
            f"The URL is longer than {MAX_URL_BYTES} bytes when percent-encoded.",
        )
    parts = _SERIALISED.fullmatch(location)
    if parts is None:
        raise UrlRefused(
            UrlProblem.CREDENTIALS, "URLs with a user name or password are not accepted."
        )
    scheme, host, port, path, query = parts.groups()
    _check_host(host, port, authority)
    for hosts in own_hosts:
        if hosts and _is_own(host, port or DEFAULT_PORTS[scheme], hosts):
            raise UrlRefused(UrlProblem.OWN, "This URL points back to this shortener.")
    return JudgedUrl(original, location, _canonical(scheme, host, port, path, query))


@dataclass(frozen=True, slots=True)
class UrlAddress:
    """The parts of a location. `host` is plain, `port` is explicit or the default, `path` has no
    query."""

    host: str
    port: str
    path: str
    query: str


def take_apart(location: str) -> UrlAddress | None:
    """None: this is not a judged URL."""
    parts = _SERIALISED.fullmatch(location)
    if parts is None:
        return None
    scheme, host, port, path, query = parts.groups()
    # Like `plain_host`, but without the call: this runs for every host, and most are names.
    plain = plain_host(host) if host[0] == "[" else host.removesuffix(".")
    return UrlAddress(plain, port or DEFAULT_PORTS[scheme], path, query or "")


def plain_host(host: str) -> str:
    """The host of a judged URL in the form that rules and bans use: without a final dot.
    `[::ffff:cb00:7109]` becomes 203.0.113.9, which is what every system connects to."""
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
    """Refuses what a parser would silently repair; returns the authority as written."""
    try:
        size = len(original.encode())
    except UnicodeEncodeError:
        raise UrlRefused(UrlProblem.TEXT, "The URL is not valid Unicode text.") from None
    if size > MAX_URL_BYTES:
        raise UrlRefused(UrlProblem.TOO_LONG, f"The URL is longer than {MAX_URL_BYTES} bytes.")
    if _FORBIDDEN.search(original):
        raise UrlRefused(
            UrlProblem.CHARACTERS,
            "The URL contains a space, a backslash or an invisible character.",
        )
    authority = _AUTHORITY.match(original)
    if authority is None:
        raise UrlRefused(
            UrlProblem.SCHEME, "The URL must start with http:// or https://, followed by a host."
        )
    if "@" in authority[1]:
        raise UrlRefused(
            UrlProblem.CREDENTIALS, "URLs with a user name or password are not accepted."
        )
    return authority[1]


def _check_host(host: str, port: str | None, authority: str) -> None:
    if port == "0":
        raise UrlRefused(UrlProblem.PORT, "Port 0 is not valid.")
    if host.startswith("["):
        return
    if _IPV4.fullmatch(host):
        if _PORT.sub("", authority) != host:
            raise UrlRefused(
                UrlProblem.ADDRESS, f"Write the IPv4 address in its usual form: {host}."
            )
        return
    name = host.removesuffix(".")
    labels = name.split(".")
    if len(name) > MAX_HOST_LENGTH or not all(0 < len(x) <= MAX_LABEL_LENGTH for x in labels):
        raise UrlRefused(
            UrlProblem.HOST, "The host name is not valid: a part of it is empty or too long."
        )
    for label in labels:
        # The standard accepts any ASCII name, but resolvers and browsers disagree about one that
        # means nothing. ada-url then returns it as it is (UTS 46, ToUnicode).
        if label.startswith("xn--") and idna_to_unicode(label) == label:
            raise UrlRefused(
                UrlProblem.HOST, f"The host name is not valid: “{label}” is not valid Punycode."
            )


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
    """The name as a server decodes it: `%61` is an `a`."""
    return unquote_plus(_name(piece))
