"""The sums of a stretch of a journal. Pure: everything it needs is passed in."""

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
    DayCounts,
    Event,
    JournalPosition,
    LinkOwner,
    Subject,
    SubjectKind,
    tag_subject,
)
from kurz.clicks.counts import OTHER, PEOPLE, Of, VisitKind
from kurz.clicks.moments import Moments
from kurz.clicks.ports import CountryFinder
from kurz.clicks.record import COUNT_ONLY, PREFETCH, UNKNOWN_VISITOR, Fields
from kurz.clicks.values import host_of, locale_of

HOUR_MICROS: Final = 3_600_000_000
MAX_OWNERS: Final = 16_384
TOP_LINKS: Final = 100  # of a batch
MANY: Final = 8  # from this many clicks on, a Counter is faster

# Plain strings: dictionaries and drivers are slower with enum members.
_PREFETCH = str(VisitKind.PREFETCH)
_PRIVATE = str(VisitKind.PRIVATE)
_SORT_KEYS = {str(sort): Of.SORT + sort for sort in VisitKind}
_UNASKED = Agent(_PRIVATE, "", "", "", (str(Of.BROWSER), str(Of.SYSTEM), str(Of.DEVICE)))
_PEOPLE = frozenset(map(str, PEOPLE))
_LINK = str(Of.LINK)

# What one click adds to each subject: keys of `clicks/counts`, its latency in milliseconds, and the
# visitor; None unless it is a person.
_Share = tuple[tuple[str, ...], float, bytes | None]

_make = tuple.__new__  # creates a named tuple in half the time

K = TypeVar("K")
V = TypeVar("V")


def aggregate(
    records: Iterable[Fields],
    owners: Mapping[int, LinkOwner],
    agents: Agents,
    countries: CountryFinder,
    start: JournalPosition,
    end: JournalPosition,
) -> Batch:
    """Everything that these clicks add. A link without an owner entry is purged: its clicks count
    for the workspace in the record, and for the installation."""
    result = Batch(start, end)
    wide: dict[tuple[Subject, int], _Many] = {}
    of_owners: dict[tuple[int, tuple[str, ...], int], list[_Many]] = {}
    groups = _grouped(records, owners, agents, countries, result.events)
    for (link_id, space, day), shares in groups.items():
        result.clicks += len(shares)
        people = len(shares) - [visitor for _, _, visitor in shares].count(None)
        home = owners.get(link_id)
        if home is not None:
            _add(result, _make(Subject, (SubjectKind.LINK, link_id)), day, shares, people)
        tags = home.tags if home is not None else ()
        manys = of_owners.get((space, tags, day))
        if manys is None:
            subjects = _wide_subjects(space, tags)
            manys = [wide.setdefault((subject, day), _Many()) for subject in subjects]
            of_owners[space, tags, day] = manys
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
        """Keys of `clicks/counts` for the links that most people followed. Others are unlikely to
        be among a day's top links, and including all of them would take half of the time."""
        people = self.people
        links: Iterable[int] = people
        other = 0
        if len(people) > TOP_LINKS:
            links = nlargest(TOP_LINKS, people, key=people.__getitem__)
            other = sum(people.values()) - sum(map(people.__getitem__, links))
        found = {f"{_LINK}{link_id}": people[link_id] for link_id in links if people[link_id]}
        return found | {f"{_LINK}{OTHER}": other} if other else found


class _Memo(dict[K, V]):
    """Computes each value once. It lives for one call only, because it never drops a value."""

    def __init__(self, work_out: Callable[[K], V]) -> None:
        super().__init__()
        self._work_out = work_out

    def __missing__(self, key: K) -> V:
        value = self[key] = self._work_out(key)
        return value


def _grouped(
    records: Iterable[Fields],
    owners: Mapping[int, LinkOwner],
    agents: Agents,
    countries: CountryFinder,
    events: list[Event],
) -> dict[tuple[int, int, int], list[_Share]]:
    """The clicks by link, space and day; `events` gets all of them. The loop runs for every click:
    it is written for speed."""
    groups: dict[tuple[int, int, int], list[_Share]] = {}
    spaces = {link_id: home.space for link_id, home in owners.items()}
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
    if len(shares) == 1:  # the usual case
        ((keys, latency_ms, visitor),) = shares
        counts = dict.fromkeys(keys, 1)
        moments = _make(Moments, (1, latency_ms, 0.0))
        visitors = set() if visitor is None else {visitor}
    else:
        counts = _count(shares)
        moments = Moments.of([latency_ms for _, latency_ms, _ in shares])
        visitors = {visitor for _, _, visitor in shares if visitor is not None}
    visitors.discard(UNKNOWN_VISITOR)
    result.days[subject, day] = DayCounts(len(shares), people, counts, visitors)
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


@lru_cache(MAX_OWNERS)
def _wide_subjects(space: int, tags: tuple[str, ...]) -> tuple[Subject, ...]:
    """Every subject of a click except its link."""
    tagged = [tag_subject(space, tag) for tag in tags]
    return (*tagged, Subject(SubjectKind.SPACE, space), INSTALLATION)


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
