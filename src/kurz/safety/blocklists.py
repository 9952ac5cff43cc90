"""Reads lists of hosts and URLs, in the usual formats."""

import re
from collections.abc import Iterable, Iterator, Sequence
from ipaddress import ip_address, ip_network
from typing import NamedTuple
from urllib.parse import unquote

from ada_url import normalize_url

from kurz.links.urls import MAX_HOST_LENGTH, MAX_LABEL_LENGTH, take_apart

MAX_LINE_BYTES = 8192


class ListUnreadable(Exception):
    """This is not a list, or it cannot be read at the moment. Its text says why."""


class ListRule(NamedTuple):
    """A rule for a host and its subdomains: every URL there, or those with a port or a path. `path`
    has its pieces: anything may be between two of them. `is_exception`: these are allowed."""

    host: str
    port: str | None = None
    path: tuple[str, ...] | None = None
    is_exception: bool = False


class Reading:
    """The rules of a list, line by line. `bad` counts the lines that cannot be parsed."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines = lines
        self.rules = 0
        self.bad = 0

    def __iter__(self) -> Iterator[ListRule]:
        """Raises `ListUnreadable` at the end: what was read until then must not be used."""
        good = 0
        for line in self._lines:
            rules = _read(line)
            if rules is None:
                self.bad += 1
            elif rules:
                good += 1
                self.rules += len(rules)
                yield from rules
        if self.bad > good:
            raise ListUnreadable(f"most of its lines are neither hosts nor URLs ({self.bad:,})")


# The form of most lines of most lists, so that they need no other check.
_LABEL = r"[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?"
_PLAIN = re.compile(
    rf"(?:0\.0\.0\.0[ \t]+|127\.0\.0\.1[ \t]+|\|\||\*\.)?((?:{_LABEL}\.)+[a-z]{{2,63}})\^?\s*"
)
_COMMENT = re.compile(r"[#!;]|\[[^:]*\]|//(?!\S)")
_REMARK = re.compile(r"\s[#;].*")
# Rules about parts of pages, and about requests that are made from pages: not about links.
_COSMETIC = re.compile(r"#[@?$%]*#")
_OPTIONS = re.compile(r"\$([\w,~=|.-]+)\Z")
_HARMLESS_OPTIONS = frozenset({"important", "all", "document", "doc", "popup"})
_DNSMASQ = re.compile(r"(?:address|server|local)=/([^\s]+)/[^/\s]*")
_TARGET = re.compile(
    r"(?:https?://)?(?P<authority>[^/?#\s]+)(?P<path>[/?][^#\s]*)?(?:#\S*)?", re.IGNORECASE
)
_WHOLE_HOST = frozenset({"", "/", "/*", "*"})
# Names of the machine itself in hosts files.
_LOCAL = frozenset(
    {
        "localhost",
        "localhost.localdomain",
        "local",
        "broadcasthost",
        "ip6-localhost",
        "ip6-loopback",
        "ip6-localnet",
        "ip6-mcastprefix",
        "ip6-allnodes",
        "ip6-allrouters",
        "ip6-allhosts",
        "0.0.0.0",  # noqa: S104  nobody listens there
    }
)


def _read(line: bytes) -> Sequence[ListRule] | None:
    """None: it cannot be parsed. Empty: it has no rule for links."""
    if b"\0" in line:
        raise ListUnreadable("it is not a text file")
    if len(line) > MAX_LINE_BYTES:
        return None
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return None
    plain = _PLAIN.fullmatch(text)
    if plain is not None and "xn--" not in plain[1] and len(plain[1]) <= MAX_HOST_LENGTH:
        return () if plain[1] in _LOCAL else (ListRule(plain[1]),)
    text = text.strip().removeprefix("\ufeff")
    if not text or _COMMENT.match(text) or _COSMETIC.search(text):
        return ()
    return parse(_REMARK.sub("", text))


def parse(text: str) -> Sequence[ListRule] | None:
    """A line without its comment; the result is that of `_read`."""
    if text.startswith(("||", "@@", "|http")):
        return _adblock(text)
    dnsmasq = _DNSMASQ.fullmatch(text)
    if dnsmasq is not None:
        return _all(dnsmasq[1].split("/"), is_sure=True)
    first, *others = text.split()
    if not others:
        return _one(first)
    if _is_address(first):
        return _all(others, is_sure=True)
    if others[0].upper() == "CNAME":  # of a zone for name servers
        return _one(first)
    return None


def _adblock(text: str) -> Sequence[ListRule] | None:
    is_exception = text.startswith("@@")
    target = text.removeprefix("@@")
    options = _OPTIONS.search(target)
    if options is not None:
        if not _HARMLESS_OPTIONS.issuperset(options[1].split(",")):
            return ()
        target = target[: options.start()]
    is_open = target.startswith("||") and not target.endswith(("^", "|"))
    target = target.lstrip("|").rstrip("|").removesuffix("*")
    is_parted = target.endswith("^")
    rules = _one(target.removesuffix("^"), is_sure=True)
    if not rules:
        return rules
    [rule] = [rule._replace(is_exception=is_exception) for rule in rules]
    if rule.path is None:
        return [rule]
    if is_parted:  # `^` is the end, or a separator in a path or a query
        *pieces, last = rule.path
        part = "&" if any("?" in piece for piece in rule.path) else "/"
        return [rule, rule._replace(path=(*pieces, last.removesuffix(part) + part, ""))]
    return [rule._replace(path=(*rule.path, ""))] if is_open else [rule]


def _all(targets: Sequence[str], *, is_sure: bool) -> Sequence[ListRule] | None:
    rules: list[ListRule] = []
    for target in targets:
        more = _one(target, is_sure=is_sure)
        if more is None:
            return None
        rules += more
    return rules


def _one(target: str, *, is_sure: bool = False) -> Sequence[ListRule] | None:
    """`is_sure`: a single word is a host too; in a list of words that would be a mistake."""
    if target.lower() in _LOCAL:
        return ()
    if _is_address(target) and ":" in target:
        target = f"[{target}]"
    elif _is_network(target):
        return None
    match = _TARGET.fullmatch(target)
    if match is None:
        return None
    is_sure = is_sure or target.startswith("*.") or "://" in target
    authority, path = match["authority"].removeprefix("*."), match["path"] or ""
    rule = _rule(authority, path)
    if rule is None or not (is_sure or "." in rule.host or rule.host.startswith("[")):
        return None
    return (rule,)


def _rule(authority: str, path: str) -> ListRule | None:
    """By the same rules as the URLs of links."""
    try:
        address = take_apart(normalize_url(f"http://{authority}{path}"))
    except ValueError:
        return None
    if address is None or "*" in address.host or "%" in address.host:
        return None
    if not all(0 < len(label) <= MAX_LABEL_LENGTH for label in address.host.split(".")):
        return None
    port = None if address.port in ("80", "443") else address.port
    if path in _WHOLE_HOST:
        return ListRule(address.host, port)
    target = f"{address.path}?{address.query}" if address.query else address.path
    return ListRule(address.host, port, tuple(_unquote(piece) for piece in target.split("*")))


def target_of(path: str, query: str) -> str:
    """The rest of a URL as it is compared: `%62ad` is `bad`."""
    return _unquote(f"{path}?{query}" if query else path)


def _unquote(text: str) -> str:
    return unquote(text, errors="replace") if "%" in text else text


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _is_network(text: str) -> bool:
    if "/" not in text:
        return False
    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    return True
