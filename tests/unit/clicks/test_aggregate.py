"""What clicks come to, beside a slow recount of what is kept of each."""

from collections import Counter, defaultdict
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kurz.clicks.aggregate import aggregate
from kurz.clicks.batch import (
    INSTALLATION,
    Batch,
    Event,
    JournalPosition,
    LinkOwner,
    Subject,
    SubjectKind,
    tag_subject,
)
from kurz.clicks.counts import MAX_OF_LINK, OTHER, PEOPLE, VisitKind, merge
from kurz.clicks.moments import Moments
from kurz.clicks.record import COUNT_ONLY, PREFETCH, UNKNOWN_VISITOR, Fields
from kurz.clicks.visitors import DAY_MICROS

TODAY = 20_700
NOON = TODAY * DAY_MICROS + DAY_MICROS // 2
HOMES = {
    1: LinkOwner(5, ("red", "blue")),
    2: LinkOwner(5, ("red",)),
    3: LinkOwner(-9, ()),
    4: LinkOwner(0, ("red",)),
}
CHROME = b"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/129.0 Safari/537.36"
IPHONE = (
    b"Mozilla/5.0 (iPhone; CPU iPhone OS 17_6 like Mac OS X) Version/17.6 Mobile/1 Safari/604.1"
)
START, END = JournalPosition(b"s" * 16, 36), JournalPosition(b"s" * 16, 999)


class FixedCountries:
    def find(self, network: bytes) -> str:
        return {b"aaa": "DE", b"bbbbbb": "FR"}.get(network, "")


def click(
    link_id: int = 1,
    at: int = NOON,
    latency_ns: int = 150_000_000,
    workspace_id: int = 5,
    flags: int = 0,
    network: bytes = b"aaa",
    visitor: bytes = b"visitor1",
    language: bytes = b"de-DE",
    referrer: bytes = b"https://www.a.example",
    user_agent: bytes = CHROME,
) -> Fields:
    if flags & COUNT_ONLY:
        network, visitor, language, referrer, user_agent = b"", UNKNOWN_VISITOR, b"", b"", b""
    return (
        *(at, latency_ns, link_id, workspace_id, flags),
        *(network, visitor, language, referrer, user_agent),
    )


clicks = st.builds(
    click,
    link_id=st.integers(1, 6),  # 5 and 6 are gone
    at=st.integers(NOON - 2 * DAY_MICROS, NOON + DAY_MICROS),
    latency_ns=st.integers(0, 10**9).map(lambda value: value * 100),
    workspace_id=st.integers(0, 2),
    flags=st.sampled_from([0, 0, PREFETCH, COUNT_ONLY, PREFETCH | COUNT_ONLY]),
    network=st.sampled_from([b"", b"aaa", b"bbbbbb", b"ccc"]),
    visitor=st.sampled_from([UNKNOWN_VISITOR, b"visitor1", b"visitor2", b"visitor3"]),
    language=st.sampled_from([b"", b"de", b"en-us", b"xx-not-a-tag!"]),
    referrer=st.sampled_from([b"", b"https://www.a.example", b"https://b.example:8080"]),
    user_agent=st.sampled_from([b"", b"\xff\xfe", CHROME, IPHONE, b"Twitterbot/1.0", b"curl/8.5"]),
)


def subjects(event: Event) -> Iterator[Subject]:
    home = HOMES.get(event.link_id)
    if home is not None:
        yield Subject(SubjectKind.LINK, event.link_id)
        yield from (tag_subject(home.space, tag) for tag in home.tags)
    yield Subject(SubjectKind.SPACE, event.space)
    yield INSTALLATION


def recount(event: Event, kind: SubjectKind) -> Iterator[str]:
    hour = event.at_micros // 3_600_000_000 % 24
    is_person = event.sort in PEOPLE
    yield f"{'h' if is_person else 'H'}{hour:02}"
    yield f"s{event.sort}"
    if event.sort in (VisitKind.BOT, VisitKind.PREVIEW):
        yield f"n{event.browser}"
    if is_person:
        yield f"c{event.country}"
        yield f"r{event.referrer}"
        yield f"b{event.browser}"
        yield f"o{event.system}"
        yield f"d{event.device}"
        yield f"l{event.language}"
        if kind is not SubjectKind.LINK:
            yield f"L{event.link_id}"


@pytest.fixture(scope="session")
def batch_of(agents):
    def make(*records: Fields) -> Batch:
        return aggregate(records, HOMES, agents, FixedCountries(), START, END)

    return make


@given(st.lists(clicks, max_size=30))
def test_days_are_a_recount_of_the_events(batch_of, records):
    batch = batch_of(*records)
    numbers: dict[tuple[Subject, int], Counter[str]] = defaultdict(Counter)
    people: Counter[tuple[Subject, int]] = Counter()
    visitors: dict[tuple[Subject, int], set[bytes]] = defaultdict(set)
    sizes: Counter[tuple[Subject, int]] = Counter()
    for event in batch.events:
        for subject in subjects(event):
            row = subject, event.day
            sizes[row] += 1
            numbers[row].update(recount(event, subject.kind))
            people[row] += event.sort in PEOPLE
            if event.sort in PEOPLE and event.visitor != UNKNOWN_VISITOR:
                visitors[row].add(event.visitor)
    assert batch.clicks == len(batch.events) == len(records)
    assert batch.days.keys() == sizes.keys()
    for row, day in batch.days.items():
        assert day.clicks == sizes[row]
        assert day.people == people[row]
        assert day.visitors == visitors[row]
        assert day.counts == numbers[row]


@given(st.lists(clicks, max_size=30))
def test_events_hold_what_the_records_hold_in_their_order(batch_of, records):
    for event, record in zip(batch_of(*records).events, records, strict=True):
        at, latency_ns, link_id, workspace_id, flags, network, visitor, *_ = record
        assert (event.at_micros, event.day) == (at, at // DAY_MICROS)
        assert (event.link_id, event.visitor) == (link_id, visitor)
        assert event.latency_micros == pytest.approx(latency_ns / 1000)
        home = HOMES.get(link_id)
        assert event.space == (workspace_id if home is None else home.space)
        assert event.country == FixedCountries().find(network)
        if flags & COUNT_ONLY:
            assert event[6:12] == ("",) * 6


@given(st.lists(clicks, max_size=30))
def test_moments_are_those_of_the_latencies_in_milliseconds(batch_of, records):
    batch = batch_of(*records)
    expected: dict[Subject, Moments] = defaultdict(Moments)
    for event in batch.events:
        for subject in subjects(event):
            expected[subject] = expected[subject].add(event.latency_micros / 1000)
    assert batch.moments.keys() == expected.keys()
    for subject, moments in batch.moments.items():
        assert moments.number == expected[subject].number
        assert moments.mean == pytest.approx(expected[subject].mean)
        assert moments.m2 == pytest.approx(expected[subject].m2, rel=1e-6, abs=1e-3)


@given(st.lists(clicks, max_size=30), st.integers(0, 30))
def test_a_journal_counts_the_same_in_whatever_stretches(batch_of, records, cut):
    whole = batch_of(*records)
    days: dict[tuple[Subject, int], dict[str, int]] = {}
    for part in (batch_of(*records[:cut]), batch_of(*records[cut:])):
        for row, day in part.days.items():
            merge(days.setdefault(row, {}), day.counts, MAX_OF_LINK)
    assert days == {row: day.counts for row, day in whole.days.items()}


def test_the_worked_example_of_the_seeds(batch_of):
    latencies_ms = [150, 200, 180, 160]
    batch = batch_of(*(click(latency_ns=latency * 10**6) for latency in latencies_ms))
    assert batch.moments[Subject(SubjectKind.LINK, 1)].mean == pytest.approx(172.5)


def test_one_click(batch_of):
    batch = batch_of(click())
    event = Event(
        TODAY, NOON, 1, 5, 150_000, "person", "DE", "a.example", "Chrome", "Windows", "desktop",
        "de-DE", b"visitor1",
    )  # fmt: skip
    assert (batch.start, batch.end, batch.events) == (START, END, [event])
    assert isinstance(batch.events[0], Event)
    counts = {"h12": 1, "sperson": 1, "cDE": 1, "ra.example": 1, "bChrome": 1, "oWindows": 1}
    counts |= {"ddesktop": 1, "lde-DE": 1}
    assert batch.days[Subject(SubjectKind.LINK, 1), TODAY].counts == counts
    assert batch.days[INSTALLATION, TODAY].counts == counts | {"L1": 1}
    assert batch.days.keys() == {
        (subject, TODAY)
        for subject in (
            Subject(SubjectKind.LINK, 1),
            tag_subject(5, "red"),
            tag_subject(5, "blue"),
            Subject(SubjectKind.SPACE, 5),
            INSTALLATION,
        )
    }


@pytest.mark.parametrize(
    ("flags", "user_agent", "sort"),
    [
        (0, CHROME, VisitKind.PERSON),
        (PREFETCH, CHROME, VisitKind.PREFETCH),
        (COUNT_ONLY, b"", VisitKind.PRIVATE),
        (COUNT_ONLY | PREFETCH, b"", VisitKind.PREFETCH),
        (0, b"Twitterbot/1.0", VisitKind.PREVIEW),
        (PREFETCH, b"Twitterbot/1.0", VisitKind.PREVIEW),
        (0, b"curl/8.5", VisitKind.BOT),
        (0, b"", VisitKind.BOT),
        (128, CHROME, VisitKind.PERSON),  # a flag of the future
    ],
)
def test_sorts(batch_of, flags, user_agent, sort):
    batch = batch_of(click(flags=flags, user_agent=user_agent))
    day = batch.days[Subject(SubjectKind.LINK, 1), TODAY]
    assert batch.events[0].sort == sort
    assert day.counts[f"s{sort}"] == day.clicks == 1
    assert day.people == (sort in (VisitKind.PERSON, VisitKind.PRIVATE))
    assert day.visitors == ({b"visitor1"} if sort == VisitKind.PERSON else set())


def test_a_link_that_is_gone_counts_for_its_workspace_and_the_installation(batch_of):
    batch = batch_of(click(link_id=77, workspace_id=8), click(link_id=77, workspace_id=9))
    assert batch.days.keys() == {
        (subject, TODAY)
        for subject in (Subject(SubjectKind.SPACE, 8), Subject(SubjectKind.SPACE, 9), INSTALLATION)
    }
    assert batch.days[INSTALLATION, TODAY].counts["L77"] == 2


def test_above_the_cap_sums_stay_exact(batch_of):
    origins = [f"https://{number % 300}.example".encode() for number in range(1000)]
    day = batch_of(*(click(referrer=origin) for origin in origins)).days[
        Subject(SubjectKind.LINK, 1), TODAY
    ]
    counts: dict[str, int] = {}
    merge(counts, day.counts, MAX_OF_LINK)
    referrers = {key: number for key, number in counts.items() if key[0] == "r"}
    assert sum(referrers.values()) == 1000
    assert len(referrers) == MAX_OF_LINK + 1
    assert referrers[f"r{OTHER}"] == 1000 - MAX_OF_LINK * 4


def test_no_clicks_are_an_empty_batch(batch_of):
    assert batch_of() == Batch(START, END)
