"""What a stretch of a journal comes to. Pure: all that it has to know it is told."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from heapq import nlargest
from itertools import chain
from typing import Final, TypeVar

from kurz.clicks.agents import Agent, Agents
from kurz.clicks.batch import (
    INSTALLATION,
    Batch,
    DayTally,
    Event,
    Home,
    Kind,
    Position,
    Subject,
    tag_subject,
)
from kurz.clicks.counts import OTHER, PEOPLE, Of, Sort
from kurz.clicks.moments import Moments
from kurz.clicks.ports import CountryFinder
from kurz.clicks.record import COUNT_ONLY, PREFETCH, UNKNOWN_VISITOR, Fields
from kurz.clicks.values import host_of, locale_of

HOUR_MICROS: Final = 3_600_000_000
MAX_HOMES: Final = 16_384
TOP_LINKS: Final = 100  # of a batch
MANY: Final = 8  # clicks that a Counter pays for

# Plain strings: dictionaries and drivers are slower with members of an enum.
_PERSON = str(Sort.PERSON)
_PREFETCH = str(Sort.PREFETCH)
_PRIVATE = str(Sort.PRIVATE)
_SORT_KEYS = {str(sort): Of.SORT + sort for sort in Sort}
_UNASKED = Agent(_PRIVATE, "", "", "", (str(Of.BROWSER), str(Of.SYSTEM), str(Of.DEVICE)))
_PEOPLE = frozenset(map(str, PEOPLE))
_LINK = str(Of.LINK)

# What one click adds to whatever it counts for: keys of `clicks/counts`, its latency in
# milliseconds, and the visitor; None for those that are no people.
_Share = tuple[tuple[str, ...], float, bytes | None]

_make = tuple.__new__  # makes a named tuple in half the time

K = TypeVar("K")
V = TypeVar("V")


def tally(
    records: Iterable[Fields],
    homes: Mapping[int, Home],
    agents: Agents,
    countries: CountryFinder,
    start: Position,
    end: Position,
) -> Batch:
    """All that these clicks add. A link without a home is gone: its clicks count for the workspace
    that the record names, and for the installation."""
    result = Batch(start, end)
    wide: dict[tuple[Subject, int], _Many] = {}
    of_homes: dict[tuple[int, tuple[str, ...], int], list[_Many]] = {}
    groups = _grouped(records, homes, agents, countries, result.events)
    for (link_id, space, day), shares in groups.items():
        result.clicks += len(shares)
        people = len(shares) - [visitor for _, _, visitor in shares].count(None)
        home = homes.get(link_id)
        if home is not None:
            _add(result, _make(Subject, (Kind.LINK, link_id)), day, shares, people)
        tags = home.tags if home is not None else ()
        manys = of_homes.get((space, tags, day))
        if manys is None:
            subjects = _wide_subjects(space, tags)
            manys = [wide.setdefault((subject, day), _Many()) for subject in subjects]
            of_homes[space, tags, day] = manys
        for many in manys:
            many.shares += shares
            many.people[link_id] = many.people.get(link_id, 0) + people
    for (subject, day), many in wide.items():
        _add(result, subject, day, many.shares, sum(many.people.values()))
        result.days[subject, day].counts |= many.top()
    return result


class _Many:
    """The clicks of a subject that has many links, on one day."""

    __slots__ = ("people", "shares")

    def __init__(self) -> None:
        self.shares: list[_Share] = []
        self.people: dict[int, int] = {}  # by link

    def top(self) -> dict[str, int]:
        """Keys of `clicks/counts` for the links that most people followed. Those behind them have
        little chance to be among a day's first, and to try them all would take half of the time."""
        people = self.people
        links: Iterable[int] = people
        other = 0
        if len(people) > TOP_LINKS:
            links = nlargest(TOP_LINKS, people, key=people.__getitem__)
            other = sum(people.values()) - sum(map(people.__getitem__, links))
        found = {f"{_LINK}{link_id}": people[link_id] for link_id in links if people[link_id]}
        return found | {f"{_LINK}{OTHER}": other} if other else found


class _Memo(dict[K, V]):
    """Works out each value once. For the length of a call: it forgets nothing."""

    def __init__(self, work_out: Callable[[K], V]) -> None:
        super().__init__()
        self._work_out = work_out

    def __missing__(self, key: K) -> V:
        value = self[key] = self._work_out(key)
        return value


def _grouped(
    records: Iterable[Fields],
    homes: Mapping[int, Home],
    agents: Agents,
    countries: CountryFinder,
    events: list[Event],
) -> dict[tuple[int, int, int], list[_Share]]:
    """The clicks by link, space and day; `events` gets all of them. All of the loop is run
    for every click: it is written for speed."""
    groups: dict[tuple[int, int, int], list[_Share]] = {}
    spaces = {link_id: home.space for link_id, home in homes.items()}
    hours, hosts, locales = _Memo(_hour), _Memo(_host), _Memo(_locale)
    country_keys = _Memo(_country_key)
    agent_of, country_of = agents.get, countries.find
    for at, latency_ns, link_id, workspace, flags, network, visitor, tag, origin, sent in records:
        agent = _UNASKED if flags & COUNT_ONLY else agent_of(sent)
        sort, browser, system, device, keys = agent
        day, people_hour, bots_hour = hours[at // HOUR_MICROS]
        country = country_of(network)
        host, host_key = hosts[origin]
        locale, locale_key = locales[tag]
        is_person = sort in _PEOPLE
        if flags & PREFETCH and is_person:
            sort, is_person, keys = _PREFETCH, False, ()
        space = spaces.get(link_id, workspace)
        latency_ms = latency_ns / 1_000_000
        sort_key = _SORT_KEYS[sort]
        share: _Share
        if is_person:
            keys = people_hour, sort_key, country_keys[country], host_key, locale_key, *keys
            share = keys, latency_ms, visitor
        else:
            share = (bots_hour, sort_key, *keys), latency_ms, None
        shares = groups.get((link_id, space, day))
        if shares is None:
            groups[link_id, space, day] = [share]
        else:
            shares.append(share)
        place = day, at, link_id, space, latency_ns / 1000, sort, country, host
        events.append(_make(Event, (*place, browser, system, device, locale, visitor)))
    return groups


def _add(result: Batch, subject: Subject, day: int, shares: list[_Share], people: int) -> None:
    if len(shares) == 1:  # as most links have it
        ((keys, latency_ms, visitor),) = shares
        counts = dict.fromkeys(keys, 1)
        moments = _make(Moments, (1, latency_ms, 0.0))
        visitors = set() if visitor is None else {visitor}
    else:
        counts = _count(shares)
        moments = Moments.of([latency_ms for _, latency_ms, _ in shares])
        visitors = {visitor for _, _, visitor in shares if visitor is not None}
    visitors.discard(UNKNOWN_VISITOR)
    result.days[subject, day] = DayTally(len(shares), people, counts, visitors)
    before = result.moments.get(subject)  # of another day
    result.moments[subject] = moments if before is None else before.merge(moments)


def _count(shares: list[_Share]) -> dict[str, int]:
    if len(shares) >= MANY:
        return dict(Counter(chain.from_iterable([keys for keys, _, _ in shares])))
    counts: dict[str, int] = {}
    for keys, _, _ in shares:
        for key in keys:
            counts[key] = counts.get(key, 0) + 1
    return counts


@lru_cache(MAX_HOMES)
def _wide_subjects(space: int, tags: tuple[str, ...]) -> tuple[Subject, ...]:
    """All that a click counts for besides its link."""
    tagged = [tag_subject(space, tag) for tag in tags]
    return (*tagged, Subject(Kind.SPACE, space), INSTALLATION)


def _hour(hours: int) -> tuple[int, str, str]:
    """The day, and the keys of the hour for people and for bots."""
    day, hour = divmod(hours, 24)
    return day, f"{Of.PEOPLE_AT_HOUR}{hour:02}", f"{Of.BOTS_AT_HOUR}{hour:02}"


def _country_key(country: str) -> str:
    return Of.COUNTRY + country


def _host(origin: bytes) -> tuple[str, str]:
    host = host_of(origin)
    return host, Of.REFERRER + host


def _locale(tag: bytes) -> tuple[str, str]:
    locale = locale_of(tag)
    return locale, Of.LANGUAGE + locale
