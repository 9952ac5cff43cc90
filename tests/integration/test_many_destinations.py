"""Many links to sites of every kind, through the real job and the real client: each is found what
it is, each URL is called once, and no site more often than it is due."""

import asyncio
import os
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
import sqlalchemy as sa

from kurz.jobs.checks.queue import CheckPace
from kurz.links.model import DestinationStatus, Draft
from kurz.outbound.addresses import AddressPolicy
from kurz.outbound.checker import DestinationChecker
from kurz.outbound.connections import Dialer
from kurz.outbound.resolver import AddressLookup
from kurz.outbound.sites import SiteGate
from kurz.safety.checks import Finding, Reason
from kurz.scheduling import RunContext
from kurz.storage.schema.links import links
from kurz.storage.schema.safety import checks, destinations
from kurz.wiring.checks import make_job
from kurz.wiring.core import Kurz
from servers.web import (
    Endless,
    Heard,
    Manner,
    WebServer,
    by_method,
    hangs_up,
    redirects,
    resets,
    says,
    says_nothing,
)
from support.checks import follow, rows
from support.slack import IS_STRICT, slack

pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)

NETWORK = "127.7.0.0/24"  # stands for the public internet
BETWEEN_SECONDS = 0.05
# Of a check: a busy machine must not fail one. A HEAD and a GET have limits of their own, so a page
# that never answers takes 7.5 s.
NETWORK_SECONDS = 30.0
SLOW_SHARE = 12  # so many times fewer pages has a slow site
# Arrivals are noted when this process, which is also the caller, gets round to it.
LATE_SECONDS = slack(0.5)
MOST_GROWTH_MB = 64
OWN_HOST = "127.7.0.250"

_OK = DestinationStatus.OK
_BROKEN = DestinationStatus.BROKEN
_UNKNOWN = DestinationStatus.UNKNOWN
_OUTSIDE = Finding(DestinationStatus.NOT_CHECKED, Reason.NOT_PUBLIC)
_NO_ANSWER = Finding(_BROKEN, Reason.NO_ANSWER)


class Site(WebServer):
    """Notes when it was called, whatever came of it. With broken TLS, it answers in plain text."""

    def __init__(self, address: str, port: int, kind: "Kind", manner: Manner) -> None:
        super().__init__(address, port, fallback=manner)
        self._has_tls = kind.scheme == "https"
        self.arrivals: list[float] = []

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.arrivals.append(time.monotonic())
        if self._has_tls:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()
        else:
            await super()._serve(reader, writer)


class NotedGate(SiteGate):
    """Notes when it let a call through, by the clock that it goes by itself."""

    def __init__(self) -> None:
        super().__init__(BETWEEN_SECONDS)
        self.turns: dict[str, list[float]] = defaultdict(list)

    def called(self, site: str, *, is_requested: bool = False) -> None:
        self.turns[site].append(time.monotonic())
        super().called(site, is_requested=is_requested)


@dataclass(frozen=True)
class Kind:
    manner: Manner
    expected: Finding
    scheme: str = "http"


def answered(result: DestinationStatus, status: int) -> Finding:
    return Finding(result, Reason.ANSWERED, status)


async def talks_nonsense(_: Heard, writer: asyncio.StreamWriter) -> None:
    writer.write(b"What do you want?\r\n\r\n")


async def goes_on_and_on(heard: Heard, writer: asyncio.StreamWriter) -> None:
    """Each page leads to the next."""
    page, _, hops = heard.target.partition("?")
    await redirects(f"{page}?{hops}x")(heard, writer)


# The first is redirected to by another.
KINDS = {
    "alive": Kind(says(200, body=b"Hello"), answered(_OK, 200)),
    "no content": Kind(says(204), answered(_OK, 204)),
    "missing": Kind(says(404), answered(_BROKEN, 404)),
    "gone": Kind(says(410), answered(_BROKEN, 410)),
    "failing": Kind(says(500), answered(_BROKEN, 500)),
    "no gateway": Kind(says(502), answered(_BROKEN, 502)),
    "busy": Kind(says(503), answered(_UNKNOWN, 503)),
    "forbidden": Kind(says(403), answered(_UNKNOWN, 403)),
    "limited": Kind(says(429), answered(_UNKNOWN, 429)),
    "without HEAD": Kind(by_method(says(405), says(200)), answered(_OK, 200)),
    "slow": Kind(says_nothing, _NO_ANSWER),
    "reset": Kind(resets, _NO_ANSWER),
    "hangs up": Kind(hangs_up, _NO_ANSWER),
    "broken TLS": Kind(says(200), _NO_ANSWER, "https"),
    "nonsense": Kind(talks_nonsense, _NO_ANSWER),
    "endless body": Kind(
        by_method(says(405), Endless(b"HTTP/1.1 200 X\r\n\r\n", 1024 * b"x")), answered(_OK, 200)
    ),
    "endless head": Kind(Endless(b"HTTP/1.1 200 X\r\n", b"X-More: x\r\n"), _NO_ANSWER),
    "loop": Kind(goes_on_and_on, Finding(_BROKEN, Reason.TOO_MANY_REDIRECTS, 302)),
    "moved": Kind(redirects("http://127.7.0.1:{port}/moved"), answered(_OK, 200)),
    "inside": Kind(redirects("http://127.0.0.1:{port}/"), _OUTSIDE),
    "leads back": Kind(redirects(f"http://{OWN_HOST}/"), Finding(_BROKEN, Reason.LEADS_BACK, 302)),
}


@pytest.fixture
async def sites() -> AsyncIterator[dict[str, Site]]:
    """One of each kind, all on the same port of different addresses."""
    async with AsyncExitStack() as stack:
        port, opened = 0, {}
        for number, (name, kind) in enumerate(KINDS.items(), 1):
            manner = kind.manner
            if name in ("moved", "inside"):
                target = "127.7.0.1" if name == "moved" else "127.0.0.1"
                manner = redirects(f"http://{target}:{port}/{name}")
            site = Site(f"127.7.0.{number}", port, kind, manner)
            opened[name] = await stack.enter_async_context(site)
            port = site.port
        yield opened


def checker_of(gate: SiteGate, port: int) -> DestinationChecker:
    dialer = Dialer(AddressPolicy((NETWORK,)), AddressLookup(("127.0.0.1",)))

    async def own_hosts() -> frozenset[str]:
        return frozenset({OWN_HOST})

    return DestinationChecker(dialer, gate, own_hosts, (80, port), NETWORK_SECONDS)


async def make_links(kurz: Kurz, urls: dict[str, str], copies: int) -> None:
    drafts = [Draft(original_url=url, owner_id=1) for url in urls for _ in range(copies)]
    for start in range(0, len(drafts), 250):
        some = drafts[start : start + 250]
        await asyncio.gather(*(kurz.links.create(draft) for draft in some))


def pages_of(name: str, pages: int) -> int:
    return max(pages // SLOW_SHARE, 1) if name == "slow" else pages


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def watch_memory(note: Callable[[float], None]) -> None:
    while True:
        note(resident_mb())
        await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    ("pages", "copies"),
    [
        pytest.param(5, 3, id="300 links"),
        pytest.param(50, 10, id="10,000 links", marks=[pytest.mark.long, pytest.mark.timeout(900)]),
    ],
)
async def test_each_is_found_what_it_is_and_called_no_more_than_it_is_due(
    kurz, clock, sites, pages, copies
):
    port = sites["alive"].port
    urls = {
        f"{KINDS[name].scheme}://{site.address}:{port}/{page}": name
        for name, site in sites.items()
        for page in range(pages_of(name, pages))
    }
    await make_links(kurz, urls, copies)
    await follow(kurz)
    clock.advance(days=1, minutes=6)  # the first checks of many links are spread over a day
    gate = NotedGate()
    job = make_job(kurz, checker_of(gate, port), gate, pace=CheckPace(rest_seconds=BETWEEN_SECONDS))
    sizes = [resident_mb()]
    watching = asyncio.create_task(watch_memory(sizes.append))
    started, context = time.monotonic(), RunContext(asyncio.Event())
    await job.run(context)
    seconds = time.monotonic() - started
    watching.cancel()

    locations = {row["id"]: row["location"] for row in await rows(kurz, destinations)}
    assert set(locations.values()) == set(urls)
    found: Counter[tuple[str, Finding]] = Counter()
    for row in await rows(kurz, checks):
        name = urls[locations[row["destination_id"]]]
        finding = Finding(
            DestinationStatus(row["result"]), Reason(row["reason"]), row["http_status"]
        )
        found[name, finding] += 1
    assert found == {(name, kind.expected): pages_of(name, pages) for name, kind in KINDS.items()}
    await _check_links(kurz, urls, copies)
    for site in sites.values():
        _check_rate(site.arrivals, gate.turns[site.address])
    calls = {name: len(gate.turns[site.address]) for name, site in sites.items()}
    growth = max(sizes) - sizes[0]
    print(
        f"\n{len(urls) * copies:,} links, {len(urls):,} URLs, {len(sites)} sites:"
        f" {sum(context.counts.values()):,} checks, {sum(calls.values()):,} calls in"
        f" {seconds:.1f} s, {growth:.1f} MB more memory"
    )
    assert sum(context.counts.values()) == len(urls)
    for name, site in sites.items():
        _check_requests(name, site, pages)
    for name in ("without HEAD", "missing", "reset", "broken TLS"):
        assert calls[name] == 2 * pages  # a HEAD and a GET
    assert growth < MOST_GROWTH_MB


def _check_requests(name: str, site: Site, pages: int) -> None:
    """Each URL was asked for once, and with GET only once more. On a busy machine a HEAD may be
    given up before it is heard, or before its answer is; then the GET is."""
    heard = Counter((it.method, it.target) for it in site.heard)
    redirected = {"/moved"} if name == "alive" else set()  # all pages of another site lead there
    assert all(
        number <= (pages if target in redirected else 1) for (_, target), number in heard.items()
    )
    if KINDS[name].expected == _NO_ANSWER:
        return
    hops = 6 if name == "loop" else 1
    targets = {target for _, target in heard}
    assert len(targets) == hops * pages_of(name, pages) + len(redirected)
    if IS_STRICT:
        heads = sum(number for (method, _), number in heard.items() if method == "HEAD")
        assert heads == (hops + len(redirected)) * pages


async def _check_links(kurz: Kurz, urls: dict[str, str], copies: int) -> None:
    """After one failure nothing is called broken."""
    query = sa.select(links.c.original_url, links.c.destination_status)
    found = await kurz.database.read(lambda it: it.execute(query).all())
    told = Counter((url, status) for url, status in found)
    shown = {_BROKEN: _UNKNOWN}
    assert told == {
        (url, shown.get(KINDS[name].expected.result, KINDS[name].expected.result)): copies
        for url, name in urls.items()
    }


def _check_rate(arrivals: list[float], turns: list[float]) -> None:
    """Turns are as far apart as they have to be, to the microsecond, and each call had one of its
    own before it. A turn whose check has no time left is not used. However many calls in a row are
    looked at, they took the time they have to, but for the first's being noted late: where they are
    few, only their turns tell."""
    assert all(later - earlier >= BETWEEN_SECONDS for earlier, later in pairwise(turns))
    assert len(arrivals) <= len(turns)
    assert all(turn <= arrival for turn, arrival in zip(turns, arrivals, strict=False))
    for first in range(len(arrivals)):
        for last in range(first + 1, len(arrivals)):
            least = (last - first) * BETWEEN_SECONDS - LATE_SECONDS
            assert arrivals[last] - arrivals[first] >= least
