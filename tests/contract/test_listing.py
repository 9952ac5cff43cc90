"""Lists of links, on both engines: what they show, in which order, page by page, and the search."""

import asyncio
import base64
import json
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
import sqlalchemy as sa

from kurz.bootstrap import Kurz
from kurz.clock import to_micros
from kurz.errors import StoreUnavailable
from kurz.links import lifecycle
from kurz.links.errors import CursorRefused, FieldRefused
from kurz.links.model import Filter, Link, LinkPage, LinkType, Scope, Sort, Status, Strategy
from kurz.storage import schema, search
from kurz.storage.database import Database
from kurz.storage.indexer import SearchIndexer
from kurz.storage.link_rows import INSERTED, to_row
from kurz.storage.search import index_changes, merge_index
from support.engines import usually_on

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
TEAM = 7
OWNERS = (11, 12, 2**53 - 1)
HERE = Scope(TEAM)
WORDS = ("alpha", "Beta", "GRÜSSE", "grüße", "Ärger", "ärger", "50% off", "a_b", 'say "hi"', "it's")
TAGS = ("red", "green", "blue", "Ünïcode", "it's")

on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


def link(number: int, **fields) -> Link:
    url = fields.pop("url", f"https://example.com/{number}")
    return Link(
        **{
            "id": 0,
            "workspace_id": TEAM,
            "short_code": f"code-{number}",
            "version": 1,
            "strategy": Strategy.RANDOM,
            "original_url": url,
            "canonical_url": url,
            "location": url,
            "owner_id": OWNERS[0],
            "link_type": LinkType.PERMANENT,
            "status": Status.ACTIVE,
            "created_at": NOW,
            "updated_at": NOW,
            **fields,
        }
    )


def any_link(chance: random.Random, number: int) -> Link:
    """Few different values, so that many are equal and the ids decide."""
    instants = [NOW + timedelta(microseconds=distance) for distance in (-5, -1, 0, 1, 9)]
    workspace_id = chance.choice([TEAM, TEAM, TEAM, 8, 0])
    return link(
        number,
        workspace_id=workspace_id,
        owner_id=chance.choice(OWNERS),
        url=f"https://{chance.choice(WORDS[:2])}.example/{chance.choice('xyz')}",
        title=chance.choice([None, *WORDS]),
        tags=tuple(chance.sample(TAGS, chance.choice([0, 1, 2]))),
        status=chance.choice([Status.ACTIVE, *Status]),
        created_at=chance.choice(instants),
        updated_at=chance.choice(instants),
        expires_at=chance.choice([None, None, *instants]),
        max_clicks=chance.choice([None, None, 1, 3]),
        clicks_used=chance.choice([0, 1, 2, 3]),
        redirect_count=chance.choice([0, 0, 1, 5, 2**40]),
    )


def insert_all(connection: sa.Connection, made: list[Link]) -> None:
    """By SQL, as one by one would take long; with all that an insert of the store writes."""
    rows = [dict(zip(INSERTED, to_row(each), strict=True)) | {"id": each.id} for each in made]
    connection.execute(sa.insert(schema.links), rows)
    tags = [
        {
            "space": row["space"],
            "tag": tag,
            "in_trash": each.status is Status.DELETED,
            "link_id": each.id,
        }
        for each, row in zip(made, rows, strict=True)
        for tag in each.tags
    ]
    if tags:
        connection.execute(sa.insert(schema.link_tags), tags)
    logged = ("workspace_id", "short_code", "version")
    changes = [
        {"link_id": row["id"], "changed_at": 0, **{name: row[name] for name in logged}}
        for row in rows
    ]
    connection.execute(sa.insert(schema.changes), changes)


async def insert_many(kurz: Kurz, made: list[Link]) -> None:
    for start in range(0, len(made), 1000):  # a transaction has to end in time
        await kurz.database.write(insert_all, made[start : start + 1000])


async def fill(kurz: Kurz, count: int, seed: int) -> list[Link]:
    chance = random.Random(seed)
    first = 10**6  # beyond the ids that the engine itself gives out in a test
    made = [replace(any_link(chance, number), id=first + number) for number in range(count)]
    await insert_many(kurz, made)
    return made


async def insert(kurz: Kurz, new: Link) -> Link:
    link_id = await kurz.store.insert(new)
    assert link_id is not None
    return replace(new, id=link_id)


async def index(kurz: Kurz, limit: int = 10**6) -> int:
    """Brings the index of texts up to date, where there is one to bring."""
    if kurz.settings.database_url is not None:
        return 0
    return await kurz.database.write(index_changes, limit)


def is_in(scope: Scope, each: Link) -> bool:
    is_of_workspace = scope.workspace_id is None or each.workspace_id == scope.workspace_id
    return is_of_workspace and scope.owner_id in (None, each.owner_id)


def is_wanted(wanted: Filter, each: Link) -> bool:
    status = lifecycle.status(each, NOW)
    text = f"{each.short_code} {each.original_url} {each.title or ''}".lower()
    return (
        (wanted.status is status if wanted.status else wanted.with_deleted or status != "DELETED")
        and (wanted.tag is None or wanted.tag in each.tags)
        and wanted.owner_id in (None, each.owner_id)
        and (wanted.created_from is None or each.created_at >= wanted.created_from)
        and (wanted.created_before is None or each.created_at < wanted.created_before)
        and (wanted.search is None or wanted.search.lower() in text)
    )


def expected(everything: list[Link], scope: Scope, wanted: Filter) -> list[Link]:
    """The list, by the rules and nothing else."""

    def key(each: Link) -> tuple[object, int]:
        value = getattr(each, wanted.sort.field)
        return (datetime.max.replace(tzinfo=UTC) if value is None else value), each.id

    found = [each for each in everything if is_in(scope, each) and is_wanted(wanted, each)]
    return sorted(found, key=key, reverse=wanted.sort.is_descending)


async def pages(kurz, wanted: Filter, scope: Scope = HERE, limit: int = 50) -> list[LinkPage]:
    found: list[LinkPage] = []
    cursor = None
    while not found or cursor is not None:
        found.append(await kurz.links.list(scope, wanted, cursor=cursor, limit=limit))
        cursor = found[-1].next_cursor
    return found


async def listed(kurz, wanted: Filter, scope: Scope = HERE, limit: int = 50) -> list[Link]:
    found = await pages(kurz, wanted, scope, limit)
    everything = [each for page in found for each in page.links]
    assert {(page.total, page.is_total_exact) for page in found} == {(len(everything), True)}
    return everything


ALONE: list[dict[str, Any]] = [
    {},
    {"with_deleted": True},
    *({"status": status} for status in Status),
    *({"tag": tag} for tag in (*TAGS, "none")),
    *({"owner_id": owner} for owner in (*OWNERS, 99)),
    *({"search": text} for text in ("alpha", "nowhere", "üss", "ÄRG", "HTTPS://", "e-1", "% o")),
    {"search": "https://beta.example/x"},
    {"created_from": NOW},
    {"created_before": NOW},
    {"created_from": NOW - timedelta(microseconds=1), "created_before": NOW},
]


def together(chance: random.Random) -> Filter:
    fields: dict[str, Any] = {"sort": chance.choice(list(Sort))}
    for one in chance.sample(ALONE, 3):
        fields |= one
    return Filter(**fields)


async def check(kurz, everything: list[Link], wanted: Filter, limit: int, scope=HERE) -> None:
    found = await listed(kurz, wanted, scope, limit)
    assert found == expected(everything, scope, wanted), (wanted, scope)


async def test_every_filter_in_every_order_shows_what_the_rules_say(kurz):
    everything = await fill(kurz, 200, seed=1)
    await index(kurz)
    for sort in Sort:
        for one in ALONE:
            await check(kurz, everything, Filter(sort=sort, **one), limit=30)


async def test_filters_together_show_what_the_rules_say(kurz):
    everything = await fill(kurz, 200, seed=2)
    await index(kurz, 120)
    chance = random.Random(3)
    scopes = [HERE, Scope(8), Scope(0, OWNERS[1]), Scope(TEAM, OWNERS[2]), Scope(), Scope(0)]
    for _ in range(120):
        await check(kurz, everything, together(chance), 30, chance.choice([HERE, *scopes]))


@usually_on("sqlite")
async def test_a_space_of_many_links_shows_what_the_rules_say(kurz):
    """Many enough that orders are walked and the index of texts is asked, also while it is behind
    and when the space is one of many."""
    chance = random.Random(4)
    everything = [replace(any_link(chance, n), id=10**6 + n) for n in range(4200)]
    others = [
        replace(each, id=each.id + part * 10**6, workspace_id=99, short_code=f"{part}-{each.id}")
        for each in everything
        for part in (1, 2)
    ]
    await insert_many(kurz, [*others, *everything])
    await index(kurz, 9000)
    chance = random.Random(5)
    for number in range(60):
        alone = Filter(sort=chance.choice(list(Sort)), **ALONE[number % len(ALONE)])
        await check(kurz, everything, alone if number % 2 else together(chance), limit=1500)
        if number == 30:
            await index(kurz)


@usually_on("sqlite")
async def test_totals_are_exact_up_to_ten_thousand(kurz):
    made = [link(number, id=10**6 + number, tags=("red",)) for number in range(10_001)]
    await insert_many(kurz, made)
    await index(kurz)
    lists = [Filter(), Filter(status=Status.ACTIVE), Filter(search="example"), Filter(tag="red")]
    for wanted in lists:
        page = await kurz.links.list(HERE, wanted, limit=1)
        assert (page.total, page.is_total_exact) == (10_000, False)
        assert page.links == (made[-1],)
    assert await kurz.store.update(made[0], {"status": Status.DELETED}, NOW) is not None
    for wanted in lists:
        page = await kurz.links.list(HERE, wanted, limit=1)
        assert (page.total, page.is_total_exact) == (10_000, True)
        assert page.links == (made[-1],)


@usually_on("postgres")
async def test_a_tag_of_many_links_shows_what_the_rules_say(kurz):
    """Many enough that orders are walked, and most values are equal, so that a page begins among
    links with the value of its end."""
    chance = random.Random(6)
    everything = [
        replace(any_link(chance, n), id=10**6 + n, workspace_id=TEAM, tags=("red", "blue"))
        for n in range(4000)
    ]
    await insert_many(kurz, everything)
    for sort in Sort:
        await check(kurz, everything, Filter(sort=sort, tag="red"), limit=1100)
        await check(kurz, everything, Filter(sort=sort, with_deleted=True), limit=1100)
        alone = {"tag": "blue"} | chance.choice(ALONE[:8])
        await check(kurz, everything, Filter(sort=sort, **alone), limit=1100)


async def test_links_made_between_two_pages_do_not_shift_them(kurz):
    made = [await insert(kurz, link(number, redirect_count=number // 2)) for number in range(8)]
    for sort in Sort:
        wanted = Filter(sort=sort)
        first = await kurz.links.list(HERE, wanted, limit=3)
        new = await insert(kurz, link(100 + len(made), redirect_count=2))
        following = (await pages(kurz, wanted))[0].links
        rest = await kurz.links.list(HERE, wanted, cursor=first.next_cursor, limit=100)
        assert [each for each in (*first.links, *rest.links) if each.id != new.id] == [
            each for each in following if each.id != new.id
        ]
        made.append(new)


async def test_a_cursor_survives_its_link(kurz):
    made = [await insert(kurz, link(number)) for number in range(5)]
    first = await kurz.links.list(HERE, Filter(), limit=2)
    gone = sa.delete(schema.links).where(schema.links.c.id == first.links[-1].id)
    await kurz.database.write(lambda connection: connection.execute(gone))
    rest = await kurz.links.list(HERE, Filter(), cursor=first.next_cursor)
    assert list(rest.links) == made[2::-1]


def encoded(parts: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


async def test_a_cursor_hides_the_number_of_the_row(kurz):
    made = [await insert(kurz, link(number)) for number in range(3)]
    cursor = (await kurz.links.list(HERE, Filter(), limit=1)).next_cursor
    parts = json.loads(base64.urlsafe_b64decode(cursor + "=="))
    assert parts == ["-created_at", to_micros(NOW), kurz.links.public_id(made[2])]


async def test_what_is_no_cursor_of_this_list_is_refused(kurz):
    await fill(kurz, 10, seed=1)
    refused = [
        "", "x", "====", "ä", "\0", "-1", "9" * 5000, encoded("x"), encoded([]), encoded({}),
        encoded(["created_at", 1, 1]), encoded(["-updated_at", 1, 1]), encoded(["-created_at", 1]),
        encoded(["-created_at", None, 1]), encoded(["-created_at", 2**63, 1]),
        encoded(["-created_at", -(2**63) - 1, 1]), encoded(["-created_at", 1.5, 1]),
        encoded(["-created_at", True, 1]), encoded(["-created_at", "1", 1]),
        encoded(["-created_at", 1, -1]), encoded(["-created_at", 1, 2**53]),
        encoded(["-created_at", 1, None]), encoded(["-created_at", 1, True]),
        encoded(["-created_at", 1, 1, 1]), encoded(["nonsense", 1, 1]),
    ]  # fmt: skip
    for cursor in refused:
        with pytest.raises(CursorRefused):
            await kurz.links.list(HERE, Filter(), cursor=cursor)
    for value in -(2**63), 2**63 - 1:
        await kurz.links.list(HERE, Filter(), cursor=encoded(["-created_at", value, 1]))
    await kurz.links.list(HERE, Filter(sort=Sort.EXPIRY), cursor=encoded(["expires_at", None, 1]))


async def test_a_search_has_three_characters(kurz):
    for text in "", "a", "ab", "   ", "ü%":
        with pytest.raises(FieldRefused, match="characters"):
            await kurz.links.list(HERE, Filter(search=text))
    assert (await kurz.links.list(HERE, Filter(search="abc"))).total == 0


TITLES = (
    *("100% off", "100 off", "a_b", "axb", 'say "hi"', "it's", "c:\\x", "[x]", "what?*", "ÄÖÜ"),
    *("äöü", "Straße", "ÇŁŠ éèñ", "x AND y", "(a)", "日本語のタイトル", "\U0001f600 smile"),
)
FOUND = {
    "00% o": {"100% off"},
    "a_b": {"a_b"},
    'y "h': {'say "hi"'},
    "T'S": {"it's"},
    "c:\\x": {"c:\\x"},
    "[x]": {"[x]"},
    "t?*": {"what?*"},
    "äÖü": {"ÄÖÜ", "äöü"},
    "RAßE": {"Straße"},
    "çłš ÉÈÑ": {"ÇŁŠ éèñ"},
    "x and Y": {"x AND y"},
    "(a)": {"(a)"},
    "本語の": {"日本語のタイトル"},
    "\U0001f600 s": {"\U0001f600 smile"},
    "'; DROP TABLE links; --": set(),
    "%%%": set(),
    "___": set(),
    "***": set(),
    '"""': set(),
}


@pytest.mark.parametrize("is_big", [False, True], ids=["few links", "many links"])
async def test_a_search_takes_every_character_as_it_is(kurz, is_big):
    filler = [link(number, id=10**6 + number, title="filler") for number in range(2500)]
    if is_big:
        await insert_many(kurz, filler)
    for number, title in enumerate(TITLES):
        await insert(kurz, link(10_000 + number, title=title))
    for _ in "behind", "up to date":
        for text, titles in FOUND.items():
            found = {each.title for each in await listed(kurz, Filter(search=text))}
            assert found == titles, text
        await index(kurz)


@pytest.fixture
async def many(kurz: Kurz) -> Kurz:
    """A space with so many links that the index of texts is asked, all of them indexed."""
    made = [link(number, id=10**6 + number, title="filler") for number in range(2500)]
    await insert_many(kurz, made)
    await index(kurz)
    return kurz


async def found_by(kurz, text: str) -> list[str]:
    return [each.short_code for each in await listed(kurz, Filter(search=text))]


async def test_a_search_sees_every_write_at_once(many):
    new = await insert(many, link(5000, title="needle one"))
    assert await found_by(many, "needle") == [new.short_code]
    await index(many)
    assert await found_by(many, "needle") == [new.short_code]
    again = await many.store.update(new, {"title": "needle two"}, NOW)
    assert await found_by(many, "needle") == [new.short_code]  # once, though changed and indexed
    edited = await many.store.update(again, {"title": "haystack"}, NOW)
    assert await found_by(many, "needle") == []
    assert await found_by(many, "haystack") == [new.short_code]
    await index(many)
    assert await found_by(many, "needle") == []
    assert await found_by(many, "haystack") == [new.short_code]
    await many.store.update(edited, {"status": Status.DELETED}, NOW)
    assert await found_by(many, "haystack") == []


@on_sqlite
async def test_the_index_forgets_links_that_are_gone(many):
    new = await insert(many, link(5000, title="needle"))
    await index(many)

    def entries(connection: sa.Connection) -> list[int]:
        match = "SELECT rowid FROM link_search WHERE link_search MATCH 'needle'"
        return list(connection.execute(sa.text(match)).scalars())

    assert await many.database.read(entries) == [new.id]

    def purge(connection: sa.Connection) -> None:
        connection.execute(sa.delete(schema.links).where(schema.links.c.id == new.id))
        search_it_again = sa.insert(schema.changes).values(
            link_id=new.id, workspace_id=TEAM, short_code=new.short_code, version=2, changed_at=0
        )
        connection.execute(search_it_again)

    await many.database.write(purge)
    assert await found_by(many, "needle") == []
    await index(many)
    assert await many.database.read(entries) == []


@on_sqlite
async def test_the_index_takes_changes_in_batches(kurz):
    await fill(kurz, 25, seed=1)
    assert [await index(kurz, 10) for _ in range(4)] == [10, 10, 5, 0]
    assert not await kurz.database.read(search.is_backlogged)


class Failing:
    """A database that is not there for the first writes."""

    def __init__(self, database: Database, failures: int) -> None:
        self.read = database.read
        self._database = database
        self._failures = failures

    async def write(self, *call):
        if self._failures:
            self._failures -= 1
            raise StoreUnavailable("not now")
        return await self._database.write(*call)


@on_sqlite
async def test_the_indexer_catches_up_and_goes_on_after_an_outage(kurz):
    await fill(kurz, 500, seed=1)
    failing = cast("Database", Failing(kurz.database, failures=2))
    indexer = SearchIndexer(failing, wake_seconds=0.01)
    indexer.start()
    await caught_up(kurz)
    await insert(kurz, link(9000))
    indexer.wake()
    await caught_up(kurz)
    await indexer.stop()
    await insert(kurz, link(9001))
    assert await kurz.database.read(search.is_backlogged)


async def caught_up(kurz) -> None:
    async with asyncio.timeout(30):
        while await kurz.database.read(search.is_backlogged):  # noqa: ASYNC110  no event says so
            await asyncio.sleep(0.01)


@on_sqlite
async def test_merging_the_index_changes_no_search(many):
    await many.database.write(search.leave_merging_to_us)
    for number in range(40):
        await insert(many, link(5000 + number, title=f"needle {number % 4}"))
        await index(many)
    before = await found_by(many, "needle 3")
    while await many.database.write(merge_index):
        pass
    assert await found_by(many, "needle 3") == before
    assert len(before) == 10
