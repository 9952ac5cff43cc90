"""What a user agent says: the kind of visit, and a few coarse names. Versions are left out."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from operator import attrgetter
from typing import Final, NamedTuple

from kurz.clicks.counts import Of, VisitKind
from kurz.clicks.crawlers import Crawlers
from kurz.clicks.previews import Previews

MAX_AGENTS: Final = 65_536  # some 350 bytes each; one that is not cached costs 20 to 100 µs
MAX_OUTCOMES: Final = 4096  # most agents map to a few hundred
MAX_NAME_LENGTH: Final = 40

_UNFIT = re.compile(r"[^A-Za-z0-9 ._+!&'():/-]")  # never part of a name; `counts.OTHER` matches too
_EDGES = " ._+&'():/-"
_VARIANT = re.compile(r"^Mobile | (?:Mobile|iOS|WebView|UI/WKWebView)\b")
# What crawlers say in addition to their own name.
_GUISES = frozenset({"Android", "Chrome", "Chromium", "Edge", "Firefox", "IE", "Opera", "Safari"})
_SYSTEMS = {"ATV OS X": "tvOS", "Mac OS X": "macOS", "Web0S": "webOS"} | dict.fromkeys(
    [
        "Arch Linux",
        "CentOS",
        "Debian",
        "Fedora",
        "Gentoo",
        "Kubuntu",
        "Linux Mint",
        "Red Hat",
        "SUSE",
        "Ubuntu",
    ],
    "Linux",
)
_DESKTOPS = frozenset(
    {"Chrome OS", "FreeBSD", "Linux", "NetBSD", "OpenBSD", "Solaris", "Windows", "macOS"}
)
_TV = re.compile(
    r"smart-?tv|apple ?tv|google ?tv|android ?tv|hbbtv|web0s|netcast|viera|bravia|crkey|\broku"
    r"|vidaa|; aft[a-z0-9]{1,6}[ )]|\btv safari",
    re.IGNORECASE,
)
_PHONE = re.compile(r"iPhone|iPod|Mobi|Phone|Opera Mini|BlackBerry|KAIOS|Dalvik")
_TABLET = re.compile(r"iPad|Tablet|PlayBook|Kindle")


class Agent(NamedTuple):
    """What is known of a user agent. Names are short and plain text; "" if unknown."""

    sort: str  # PERSON, PREVIEW or BOT of `VisitKind`
    browser: str  # the program's own name if it is not a person's
    system: str
    device: str  # desktop, phone, tablet, tv, other; "" unless it is a person
    keys: tuple[str, ...]  # for `clicks/counts`: of the three above, or of the bot's name


class Agents:
    """Parses user agents, and caches the results. Created only where clicks are counted: the rules
    take half a second and some 40 MB to load."""

    def __init__(self) -> None:
        import ua_parser_rs
        from ua_parser.loaders import load_lazy_builtins

        browsers, systems, _ = load_lazy_builtins()
        rule = attrgetter("regex", "family")
        self._browsers = ua_parser_rs.UserAgentExtractor(_rules(map(rule, browsers)))
        self._systems = ua_parser_rs.OSExtractor(_rules(map(rule, systems)))
        self._previews = Previews()
        self._crawlers = Crawlers()
        # Never raises, whatever was sent.
        self.get: Callable[[bytes], Agent] = lru_cache(MAX_AGENTS)(self._read)
        self._outcome = lru_cache(MAX_OUTCOMES)(_outcome)

    def _read(self, user_agent: bytes) -> Agent:
        text = user_agent.decode(errors="replace").strip()
        if not text:
            return self._outcome(VisitKind.BOT, "", "", "")
        preview = self._previews.find(text)
        if preview is not None:
            return self._outcome(VisitKind.PREVIEW, preview, "", "")
        found = self._browsers.extract(text)
        browser = _VARIANT.sub("", _name(found.family)) if found is not None else ""
        crawler = self._crawlers.find(text)
        if crawler is not None:
            name = browser if browser and browser not in _GUISES else _name(crawler)
            return self._outcome(VisitKind.BOT, name, "", "")
        place = self._systems.extract(text)
        system = _name(place.family) if place is not None else ""
        system = _SYSTEMS.get(system, system)
        return self._outcome(VisitKind.PERSON, browser, system, _device(text, system))


def _rules(
    pairs: Iterable[tuple[str, str | None]],
) -> list[tuple[str, str | None, None, None, None, None]]:
    """Patterns and names, without the parts for versions."""
    return [(pattern, name, None, None, None, None) for pattern, name in pairs]


def _outcome(sort: VisitKind, browser: str, system: str, device: str) -> Agent:
    keys: tuple[str, ...]
    if sort is VisitKind.PERSON:
        keys = (Of.BROWSER + browser, Of.SYSTEM + system, Of.DEVICE + device)
    else:
        keys = (Of.BOT + browser,)
    return Agent(str(sort), browser, system, device, keys)


def _name(text: str) -> str:
    """Some rules take names from the user agent, so they may contain anything."""
    return _UNFIT.sub("?", text[:MAX_NAME_LENGTH]).strip(_EDGES)


def _device(text: str, system: str) -> str:
    if _TV.search(text):
        return "tv"
    if _TABLET.search(text):
        return "tablet"
    if _PHONE.search(text):
        return "phone"
    if system == "Android":  # whose browsers say if they run on a phone
        return "tablet"
    return "desktop" if system in _DESKTOPS else "other"
