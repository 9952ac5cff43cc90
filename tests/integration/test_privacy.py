"""Nothing that is kept tells who it was: visitors, guests and makers of links are searched for in
the database, in Redis, in journals and in logs, by their addresses and by what they sent."""

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from hashlib import blake2b
from ipaddress import IPv4Address, ip_address
from pathlib import Path
from secrets import token_hex
from typing import Any

import asyncpg
import httpx2
import pytest
from redis import Redis

from kurz.clicks.batch import SubjectKind
from kurz.clicks.counts import Of, VisitKind
from kurz.clicks.record import UNKNOWN_VISITOR
from kurz.clicks.segments import list_segments
from kurz.people.limits import LIMITS, LimitClass, subject_of_address
from kurz.storage.engine.sqlite import default_driver
from servers.postgres import PostgresServer
from support.clicks import wait_until
from support.journal_reader import read
from support.program import Program

API = "/api/v1"
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0"

# Each does one thing, so that what is found tells where it comes from.
VISITORS = (
    "203.0.113.77",
    "2001:db8:a7c3:5e91:8f2d:41b6:c07a:93e5",
    "2002:cb00:71b4::1",  # 203.0.113.180 by 6to4
    "::ffff:203.0.113.43",
)
PRIVATE_VISITORS = ("198.51.100.203", "2001:db8:b1d4:6fa2:9e3c:52c7:d18b:a4f6")
MAKERS = ("192.0.2.149", "2001:db8:c2e5:70b3:ad4d:63d8:e29c:b507")
GUESTS = ("203.0.113.218", "2001:db8:d3f6:81c4:be5e:74e9:f3ad:c618")
SEEKERS = ("198.51.100.86", "2001:db8:e407:92d5:cf6f:85fa:04be:d729")
REPORTERS = ("203.0.113.119", "2001:db8:f518:a3e6:d070:960b:15cf:e83a")
EVERYBODY = (*VISITORS, *PRIVATE_VISITORS, *MAKERS, *GUESTS, *SEEKERS, *REPORTERS)

REFERRER = "https://referrer-host.example/kept-by-nobody/path?kept-by-nobody=query#kept-by-nobody"
UNWANTED = b"kept-by-nobody"
# A journal has the user agent for a day, the database never.
AGENT = "kept-by-the-journal"
PRIVATE_HEADERS = ({"sec-gpc": "1"}, {"dnt": "1"})
UNKNOWN = ("country", "referrer", "browser", "system", "device", "language")


@pytest.fixture(
    params=["sqlite", pytest.param("postgres", marks=pytest.mark.long), "postgres+redis"]
)
def engine(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def spellings(address: str) -> set[bytes]:
    """What would tell the address. Of IPv6 half of it would: that is a household."""
    parsed = ip_address(address)
    if isinstance(parsed, IPv4Address):
        packed, texts = parsed.packed, {str(parsed), str(int(parsed))}
    else:
        inner = parsed.sixtofour or parsed.ipv4_mapped
        if inner is not None:
            return {address.encode()} | spellings(str(inner))
        packed = parsed.packed[:8]
        texts = {":".join(text.split(":")[:4]) for text in (str(parsed), parsed.exploded)}
    return {packed, packed.hex().encode(), *(text.encode() for text in texts)}


def guesses(address: str) -> set[bytes]:
    """What limits would keep of the address if anybody could compute it: trying all there are of
    IPv4 takes minutes."""
    keys = [
        f"{policy.name}:{subject_of_address(address)}".encode()
        for policies in LIMITS.values()
        for policy in policies
    ]
    digests = [blake2b(key, digest_size=16) for key in keys]
    return {it.digest() for it in digests} | {it.hexdigest().encode() for it in digests}


class Town:
    """Everybody does what they came for."""

    def __init__(self, program: Program) -> None:
        self._program = program
        with self._person(MAKERS[0]) as client:
            self._codes = [self._make(client) for _ in range(2)]

    def visit(self) -> int:
        """From the store and from memory; gives how many visits that were."""
        headers = {"referer": REFERRER, "user-agent": f"{BROWSER} {AGENT}"}
        return sum(self._follow(self._codes[0], address, headers) for address in VISITORS)

    def visit_in_private(self) -> int:
        headers = {"referer": REFERRER, "user-agent": f"{BROWSER} {UNWANTED.decode()}"}
        return sum(
            self._follow(self._codes[1], address, headers | wish)
            for address in PRIVATE_VISITORS
            for wish in PRIVATE_HEADERS
        )

    def make_links(self) -> None:
        for address in MAKERS:
            with self._person(address) as client:
                self._make(client, {"idempotency-key": "the-same"})
                self._exhaust(LimitClass.ANONYMOUS_CREATE, lambda: self._post(client))

    def sign_in(self) -> None:
        for number, address in enumerate(GUESTS):
            person = {"email": f"guest{number}@example.com", "password": "correct horse battery"}
            with self._person(address) as client:
                assert client.post(f"{API}/auth/register", json=person).status_code == 201
                assert client.post(f"{API}/auth/sign-in", json=person).status_code == 200
                wrong = person | {"password": "wrong horse battery"}
                self._exhaust(
                    LimitClass.SIGN_IN_ACCOUNT,
                    lambda: client.post(f"{API}/auth/sign-in", json=wrong),  # noqa: B023
                )

    def try_codes(self) -> None:
        for address in SEEKERS:
            with self._person(address) as client:
                self._exhaust(LimitClass.MISS, lambda: client.get(f"/{token_hex(8)}"))

    def report(self) -> None:
        """By the form and by the API, until it is too often."""
        form = {"category": "spam"}
        for address in REPORTERS:
            with self._person(address) as client:
                assert client.post(f"/{self._codes[0]}+", data=form).status_code == 202
                body = form | {"short_url": self._codes[1]}
                self._exhaust(
                    LimitClass.REPORT,
                    lambda: client.post(f"{API}/reports", json=body),  # noqa: B023
                )

    def stop(self) -> None:
        assert self._program.stop() == 0

    def _person(self, address: str) -> httpx2.Client:
        return self._program.client(headers={"x-forwarded-for": address})

    def _follow(self, code: str, address: str, headers: dict[str, str]) -> int:
        with self._person(address) as client:
            for _ in range(3):
                assert client.get(f"/{code}", headers=headers).status_code == 302
        return 3

    def _make(self, client: httpx2.Client, headers: dict[str, str] | None = None) -> str:
        made = self._post(client, headers)
        assert made.status_code == 201
        code: str = made.json()["short_code"]
        return code

    def _post(self, client: httpx2.Client, headers: dict[str, str] | None = None) -> Any:
        body = {"original_url": "https://example.com/"}
        return client.post(f"{API}/links", json=body, headers=headers)

    def _exhaust(self, class_: LimitClass, act: Callable[[], httpx2.Response]) -> None:
        """Until it is too often, by this or by any other limit. Workers that count on their own
        allow it each."""
        most = 4 * LIMITS[class_][0].rate.count
        assert any(act().status_code == 429 for _ in range(most))


Rows = Mapping[str, Sequence[Mapping[str, Any]]]


class Kept:
    """All that is kept anywhere. `postgres` is the server of the database, if there is one."""

    def __init__(
        self, folder: Path, environment: dict[str, str], postgres: PostgresServer | None
    ) -> None:
        self._folder = folder
        self._environment = environment
        self._postgres = postgres
        self._since = time.time()
        self.journal = folder / "kurz-data" / "journal"

    def rows(self) -> Rows:
        """The whole database, by tables."""
        url = self._environment.get("KURZ_DATABASE_URL")
        return self._sqlite_rows() if url is None else asyncio.run(_postgres_rows(url))

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Data folder and logs, but for the public file of countries."""
        for path in self._folder.rglob("*"):
            if path.is_file() and path.suffix != ".mmdb":
                yield str(path.relative_to(self._folder)), path.read_bytes()

    def log_of_postgres(self) -> Iterator[tuple[str, bytes]]:
        """All that was written since this was made, also what was deleted again."""
        if self._postgres is not None:
            for path in (self._postgres.folder / "data" / "pg_wal").iterdir():
                if path.is_file() and path.stat().st_mtime >= self._since:
                    yield path.name, path.read_bytes()

    def redis(self) -> Iterator[tuple[str, bytes]]:
        url = self._environment.get("KURZ_REDIS_URL")
        if url is not None:
            with Redis.from_url(url) as client:
                for key in client.scan_iter():
                    assert client.type(key) == b"string"  # what else there is has to be read, too
                    yield repr(key), key + b"\0" + client.get(key)

    def _sqlite_rows(self) -> Rows:
        path = self._folder / "kurz-data" / "kurz.db"
        with closing(default_driver.connect(path)) as connection:
            cursor = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            found = {}
            for (name,) in cursor.fetchall():
                cursor = connection.execute(f'SELECT * FROM "{name}"')  # noqa: S608
                columns = [column[0] for column in cursor.description]
                found[name] = [dict(zip(columns, row, strict=True)) for row in cursor]
        return found


async def _postgres_rows(url: str) -> Rows:
    connection = await asyncpg.connect(url)
    try:
        names = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname='public'")
        return {
            name: await connection.fetch(f'SELECT * FROM "{name}"')  # noqa: S608
            for (name,) in names
        }
    finally:
        await connection.close()


@pytest.fixture
def kept(
    tmp_path: Path, environment: dict[str, str], engine: str, request: pytest.FixtureRequest
) -> Kept:
    server = None if engine == "sqlite" else request.getfixturevalue("postgres")
    return Kept(tmp_path, environment, server)


@pytest.fixture
def town(kept: Kept, environment: dict[str, str], start_program: Callable[..., Program]) -> Town:
    """Two workers share limits."""
    environment |= {"KURZ_WORKERS": "2", "KURZ_RATE_LIMITS": "on", "KURZ_LOG_LEVEL": "debug"}
    return Town(start_program(**environment))


def clicks_in(rows: Rows) -> int:
    return sum(row["clicks"] for row in rows["click_totals"] if row["kind"] == SubjectKind.LINK)


def flat(rows: Rows) -> Iterator[tuple[str, bytes]]:
    for table, found in rows.items():
        values = [value for row in found for value in row.values()]
        yield table, b"\0".join(v if isinstance(v, bytes) else str(v).encode() for v in values)


def places_of(needles: Iterable[bytes], kept: Iterable[tuple[str, bytes]]) -> dict[bytes, str]:
    """Which of them are found, and where."""
    wanted = [*needles]
    return {needle: place for place, content in kept for needle in wanted if needle in content}


def check_addresses(kept: Kept) -> None:
    needles = set[bytes]().union(*map(spellings, EVERYBODY), *map(guesses, EVERYBODY))
    assert not places_of(needles, flat(kept.rows()))
    assert not places_of(needles, kept.redis())
    assert not places_of(needles, kept.files())
    # Four bytes may stand anywhere in so many.
    long = {needle for needle in needles if len(needle) > 4}
    assert not places_of(long, kept.log_of_postgres())


def check_limits(kept: Kept) -> None:
    """They are shared, or there would be nothing to be found."""
    assert kept.rows()["limits"] or any("kurz:limit:" in key for key, _ in kept.redis())


def check_headers(kept: Kept) -> None:
    journals = {f"kurz-data/journal/{path.name}" for path in list_segments(kept.journal)}
    for everything in (flat(kept.rows()), kept.redis(), kept.files(), kept.log_of_postgres()):
        found = [*everything]
        assert not places_of([UNWANTED], found)
        assert {*places_of([AGENT.encode()], found).values()} <= journals


def check_journals(kept: Kept) -> None:
    """They have what they may, or there would be nothing to be found."""
    clicks = [click for path in list_segments(kept.journal) for click, _ in read(path)]
    open_clicks = [click for click in clicks if not click.is_count_only]
    networks = {bytes([203, 0, 113]), bytes.fromhex("20010db8a7c3")}
    assert {click.network for click in open_clicks} == networks
    assert len({click.visitor for click in open_clicks} - {UNKNOWN_VISITOR}) == len(VISITORS)
    assert all(AGENT.encode() in click.user_agent for click in open_clicks)
    nothing = (b"", UNKNOWN_VISITOR, b"", b"", b"")
    for click in clicks:
        if click.is_count_only:
            kept_of_it = (click.network, click.visitor, click.language, click.referrer)
            assert (*kept_of_it, click.user_agent) == nothing


def check_events(events: Sequence[Mapping[str, Any]], private_visits: int) -> None:
    private = [event for event in events if event["sort"] == VisitKind.PRIVATE]
    others = [event for event in events if event["sort"] != VisitKind.PRIVATE]
    assert len(private) == private_visits
    for event in private:
        assert [event[name] for name in UNKNOWN] == [""] * len(UNKNOWN)
        assert event["visitor"] == UNKNOWN_VISITOR
    assert {(event["referrer"], event["browser"]) for event in others} == {
        ("referrer-host.example", "Firefox")
    }


def check_private_day(rows: Rows, private_visits: int) -> None:
    """The link that only they have visited."""
    [link_id] = {row["link_id"] for row in rows["click_events"] if row["sort"] == VisitKind.PRIVATE}
    [day] = [
        row
        for row in rows["click_days"]
        if (row["kind"], row["subject"]) == (SubjectKind.LINK, link_id)
    ]
    assert (day["clicks"], day["people"], day["visitors"]) == (private_visits, private_visits, 0)
    told = {key[0] for key in json.loads(day["counts"]) if len(key) > 1}
    assert told == {Of.SORT, Of.PEOPLE_AT_HOUR}


def test_nothing_that_is_kept_tells_who_it_was(town, kept):
    private_visits = town.visit_in_private()
    visits = town.visit() + private_visits
    town.make_links()
    town.sign_in()
    town.try_codes()
    town.report()
    assert len(kept.rows()["reports"]) == 2 * len(REPORTERS)
    wait_until(lambda: clicks_in(kept.rows()) == visits)
    check_limits(kept)
    check_addresses(kept)
    check_headers(kept)
    check_journals(kept)
    rows = kept.rows()
    check_events(rows["click_events"], private_visits)
    check_private_day(rows, private_visits)
    town.stop()
    check_addresses(kept)
