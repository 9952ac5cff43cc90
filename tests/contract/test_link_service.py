"""What may be done with links, on both engines."""

import asyncio
import hashlib
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import sqlalchemy as sa

from kurz.bootstrap import Kurz, open_kurz
from kurz.errors import KurzError
from kurz.links.codes import deterministic
from kurz.links.codes.permutation import Permutation
from kurz.links.drafting import Drafting
from kurz.links.errors import (
    CodesExhausted,
    CursorRefused,
    CustomCodeRefused,
    CustomCodeTaken,
    InstantRefused,
    LinkBanned,
    LinkNotFound,
    StrategyRefused,
    UrlRefused,
    VersionOutdated,
)
from kurz.links.minting import Mint
from kurz.links.model import Created, Draft, Filter, Link, LinkType, Scope, Status, Strategy
from kurz.links.service import LinkService
from kurz.people.domains import Domains
from kurz.people.own_hosts import OwnHosts
from kurz.people.receipts import AlreadyAnswered, Receipt
from kurz.storage import schema
from kurz.storage.installation import LeasedCounter, lease_numbers
from kurz.storage.receipts import SqlReceiptStore

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "vectors.json").read_text())
ANY = Scope()
ALL = Filter()
URL = "https://example.com/page"
LONG = 36_500 * 86_400  # seconds in the longest life


async def create(kurz, url: str = URL, **fields) -> Created:
    created: Created = await kurz.links.create(Draft(original_url=url, **fields))
    return created


async def make(kurz, url: str = URL, **fields) -> Link:
    return (await create(kurz, url, **fields)).link


async def shared(kurz, url: str = URL, **fields) -> Created:
    """Creates in workspace 1, where codes are deterministic."""
    return await create(kurz, url, workspace_id=1, **fields)


async def stored_row(kurz, link: Link) -> sa.RowMapping:
    query = sa.select(schema.links).where(schema.links.c.id == link.id)
    row = await kurz.database.read(lambda connection: connection.execute(query).mappings().one())
    assert isinstance(row, sa.RowMapping)
    return row


async def set_row(kurz, link: Link, **values) -> None:
    statement = sa.update(schema.links).where(schema.links.c.id == link.id).values(values)
    await kurz.database.write(lambda connection: connection.execute(statement))


async def number_of_links(kurz) -> int:
    _, total = await kurz.store.list(ANY, ALL, kurz.clock.now(), limit=1)
    return int(total)


async def fetch(kurz, link: Link) -> Link:
    found = await kurz.store.find(link.id, ANY)
    assert isinstance(found, Link)
    return found


def public(kurz, link: Link) -> int:
    return int(kurz.links.public_id(link))


def service(
    kurz: Kurz,
    *,
    random_codes: Iterable[str] = (),
    counted_code: Callable[[int], str] = str,
    root_strategy: Strategy = Strategy.RANDOM,
    default_life: timedelta | None = None,
    base_url: str | None = None,
) -> LinkService:
    """A service whose codes are chosen by the test."""
    mint = Mint(
        root_strategy=root_strategy,
        random_code=iter(random_codes).__next__,
        counted_code=counted_code,
        counter=LeasedCounter(kurz.database),
    )
    return LinkService(
        kurz.store,
        mint,
        Drafting(timedelta(hours=8), default_life),
        Permutation(bytes(32), 2**53, purpose=b"id-v1"),
        OwnHosts(base_url, Domains(kurz.workspaces)),
        kurz.clock,
    )


# Creating


async def test_a_root_link_gets_a_random_code(kurz):
    created = await create(kurz, title="A page", tags=("a", "b"), owner_id=3, redirect_status=307)
    link = created.link
    assert (created.is_new, created.claim_token) == (True, None)
    assert re.fullmatch("[a-zA-Z0-9]{7}", link.short_code)
    assert (link.strategy, link.link_type, link.version) == (Strategy.RANDOM, LinkType.PERMANENT, 1)
    assert (link.expires_at, link.status, link.redirect_status) == (None, Status.ACTIVE, 307)
    assert link.created_at == link.updated_at == kurz.clock.now()
    assert await fetch(kurz, link) == link


async def test_a_counted_code_has_seven_characters(kurz):
    links = [await make(kurz, strategy=Strategy.COUNTER) for _ in range(5)]
    assert all(re.fullmatch("[a-zA-Z0-9]{7}", link.short_code) for link in links)
    assert len({link.short_code for link in links}) == 5
    assert {link.strategy for link in links} == {Strategy.COUNTER}


async def test_a_custom_code_is_taken_as_it_is(kurz):
    link = await make(kurz, custom_code="Spring-Sale")
    assert (link.short_code, link.strategy) == ("Spring-Sale", Strategy.CUSTOM)
    assert await fetch(kurz, link) == link


async def test_workspace_links_have_the_codes_of_the_vectors(kurz):
    for vector in VECTORS:
        created = await create(kurz, vector["url"], workspace_id=vector["workspace"])
        link = created.link
        assert (link.short_code, link.canonical_url) == (vector["code"], vector["canonical"])
        assert (link.strategy, link.original_url) == (Strategy.DETERMINISTIC, vector["url"])


@pytest.mark.parametrize("strategy", [Strategy.RANDOM, Strategy.COUNTER])
async def test_a_workspace_may_ask_for_another_strategy(kurz, strategy):
    first, second = await shared(kurz, strategy=strategy), await shared(kurz, strategy=strategy)
    assert first.link.strategy is second.link.strategy is strategy
    assert first.link.short_code != second.link.short_code


@pytest.mark.parametrize(
    "fields",
    [
        {"strategy": Strategy.DETERMINISTIC},
        {"strategy": Strategy.CUSTOM},
        {"strategy": Strategy.RANDOM, "custom_code": "abc"},
        {"strategy": Strategy.DETERMINISTIC, "custom_code": "abc", "workspace_id": 1},
    ],
    ids=["deterministic at the root", "custom without code", "random and code", "both"],
)
async def test_strategies_that_do_not_fit_are_refused(kurz, fields):
    with pytest.raises(StrategyRefused):
        await create(kurz, **fields)
    assert await number_of_links(kurz) == 0


async def test_the_root_strategy_is_a_setting(kurz):
    counted = service(kurz, root_strategy=Strategy.COUNTER, counted_code="code{}".format)
    created = await counted.create(Draft(original_url=URL))
    assert (created.link.strategy, created.link.short_code) == (Strategy.COUNTER, "code0")


async def test_refused_urls_and_codes_store_nothing(kurz):
    with pytest.raises(UrlRefused):
        await create(kurz, "javascript:alert(1)")
    with pytest.raises(CustomCodeRefused):
        await create(kurz, custom_code="API")
    assert await number_of_links(kurz) == 0


async def test_links_back_to_kurz_are_refused(kurz):
    own = service(kurz, base_url="https://kurz.example", random_codes=["free"])
    for url, more in (
        ("https://kurz.example/x", ()),
        ("https://kurz.example/x", ["10.0.0.1:80"]),
        ("http://10.0.0.1/", ["10.0.0.1:80"]),
    ):
        with pytest.raises(UrlRefused, match="back to this shortener"):
            await own.create(Draft(original_url=url), own_hosts=more)
    created = await own.create(
        Draft(original_url="http://10.0.0.1:8080/"), own_hosts=["10.0.0.1:80"]
    )
    with pytest.raises(UrlRefused, match="back to this shortener"):
        await own.edit(own.public_id(created.link), ANY, {"original_url": "http://kurz.example/"})
    assert await number_of_links(kurz) == 1


async def test_links_to_verified_domains_are_refused(kurz):
    def add_domain(connection: sa.Connection, host: str, verified_at: int | None) -> None:
        values = {"host": host, "workspace_id": 1, "created_at": 0, "verified_at": verified_at}
        connection.execute(sa.insert(schema.domains).values(values))

    def add_workspace(connection: sa.Connection) -> None:
        values = {"id": 1, "name": "Team", "slug": "team", "created_at": 0}
        connection.execute(sa.insert(schema.workspaces).values(values))

    await kurz.database.write(add_workspace)
    await kurz.database.write(add_domain, "go.example", 1)
    await kurz.database.write(add_domain, "unproven.example", None)
    own = service(kurz, random_codes=["free"])
    for url in "https://go.example/x", "http://GO.example.:8080/", "https://g%6f.example/":
        with pytest.raises(UrlRefused, match="back to this shortener"):
            await own.create(Draft(original_url=url))
    assert (await own.create(Draft(original_url="https://unproven.example/"))).is_new


async def test_the_redirect_goes_to_the_ascii_form_with_its_fragment(kurz):
    link = await make(kurz, "HTTPS://Example.com/ü/?b&a#Teil")
    assert link.original_url == "HTTPS://Example.com/ü/?b&a#Teil"
    assert link.location == "https://example.com/%C3%BC/?b&a#Teil"
    assert link.canonical_url == "https://example.com/%C3%BC?a&b"
    assert (await fetch(kurz, link)).location == link.location


# Anonymous links


async def test_an_anonymous_link_lives_eight_hours(kurz):
    link = await make(kurz, is_anonymous=True)
    assert (link.link_type, link.owner_id) == (LinkType.TEMPORARY, None)
    assert link.expires_at == kurz.clock.now() + timedelta(hours=8)
    kurz.clock.advance(hours=8, microseconds=-1)
    assert kurz.links.status(await fetch(kurz, link)) is Status.ACTIVE
    kurz.clock.advance(microseconds=1)
    assert kurz.links.status(await fetch(kurz, link)) is Status.EXPIRED


async def test_a_claim_token_is_stored_as_its_hash_only(kurz):
    created = await create(kurz, is_anonymous=True)
    token = created.claim_token
    assert token is not None
    row = await stored_row(kurz, created.link)
    assert row["claim_hash"] == hashlib.sha256(token.encode()).digest()
    assert all(
        token not in str(value) and token.encode() != value
        for name, value in row.items()
        if name != "claim_hash"
    )


async def test_claim_tokens_are_long_and_never_alike(kurz):
    tokens = {(await create(kurz, is_anonymous=True)).claim_token for _ in range(10)}
    assert len(tokens) == 10
    assert all(token and len(token) >= 43 for token in tokens)


async def test_a_claim_token_that_is_handed_out_is_always_stored(kurz):
    """Whatever else an anonymous caller could ask for: refused, or claimable."""
    for fields in {"custom_code": "mine"}, {"strategy": Strategy.COUNTER}, {"workspace_id": 1}:
        try:
            created = await create(kurz, is_anonymous=True, **fields)
        except KurzError:
            continue
        assert created.claim_token is not None
        stored = (await stored_row(kurz, created.link))["claim_hash"]
        assert stored == hashlib.sha256(created.claim_token.encode()).digest(), fields


async def test_links_of_people_have_no_claim(kurz):
    link = await make(kurz, owner_id=1)
    assert (await stored_row(kurz, link))["claim_hash"] is None


# Instants


async def test_expires_in_counts_from_now(kurz):
    for seconds in 1, 28_800:
        link = await make(kurz, expires_in_seconds=seconds, is_anonymous=True)
        assert link.expires_at == kurz.clock.now() + timedelta(seconds=seconds)
    for seconds in 1, 28_801, LONG:
        link = await make(kurz, expires_in_seconds=seconds)
        assert link.expires_at == kurz.clock.now() + timedelta(seconds=seconds)


async def test_expires_in_has_bounds(kurz):
    for seconds in 0, -1, 28_801, LONG, 10**30:
        with pytest.raises(InstantRefused):
            await create(kurz, expires_in_seconds=seconds, is_anonymous=True)
    for seconds in 0, -1, LONG + 1, 10**30:
        with pytest.raises(InstantRefused):
            await create(kurz, expires_in_seconds=seconds)
    assert await number_of_links(kurz) == 0


async def test_instants_in_the_past_are_refused(kurz):
    now = kurz.clock.now()
    moment = timedelta(microseconds=1)
    for fields in (
        {"expires_at": now},
        {"expires_at": now - moment},
        {"starts_at": now - moment},
        {"starts_at": now + moment, "expires_at": now + moment},
        {"starts_at": now + timedelta(seconds=10), "expires_in_seconds": 10},
        {"expires_at": now + moment, "expires_in_seconds": 5},
    ):
        with pytest.raises(InstantRefused):
            await create(kurz, **fields)
    assert await number_of_links(kurz) == 0


async def test_the_nearest_instants_are_accepted(kurz):
    now = kurz.clock.now()
    moment = timedelta(microseconds=1)
    link = await make(kurz, starts_at=now, expires_at=now + moment)
    assert (link.starts_at, link.expires_at) == (now, now + moment)


async def test_the_last_instant_of_the_calendar_can_be_read_again(kurz):
    """An hour west of Greenwich the year 9999 ends in what no Python instant in UTC can hold."""
    last = datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))
    try:
        link = await make(kurz, expires_at=last)
    except InstantRefused:
        assert await number_of_links(kurz) == 0
        return
    assert (await fetch(kurz, link)).expires_at == last


async def test_a_default_life_can_be_set(kurz):
    yearly = service(kurz, random_codes=["a", "b"], default_life=timedelta(days=365))
    now = kurz.clock.now()
    link = (await yearly.create(Draft(original_url=URL))).link
    assert link.expires_at == now + timedelta(days=365)
    temporary = (await yearly.create(Draft(original_url=URL, is_anonymous=True))).link
    assert temporary.expires_at == now + timedelta(hours=8)


# Deterministic links


async def test_parallel_creates_of_one_url_make_one_link(kurz):
    answers = await asyncio.gather(*(shared(kurz, title=str(number)) for number in range(50)))
    assert sum(answer.is_new for answer in answers) == 1
    assert len({answer.link.id for answer in answers}) == 1
    assert await number_of_links(kurz) == 1


async def test_the_same_url_gives_the_existing_link_unchanged(kurz):
    first = await shared(kurz, title="first", tags=("x",), owner_id=1)
    kurz.clock.advance(seconds=1)
    for url in URL, "HTTPS://EXAMPLE.com:443/page/", f"{URL}#part", f"{URL}?&":
        again = await shared(kurz, url, title="second", expires_in_seconds=5, owner_id=2)
        assert (again.is_new, again.link) == (False, first.link)
    assert await fetch(kurz, first.link) == first.link


async def test_other_workspaces_have_links_of_their_own(kurz):
    one, two = await shared(kurz), await create(kurz, workspace_id=2)
    assert two.is_new
    assert one.link.short_code != two.link.short_code


async def test_fragments_are_not_part_of_a_deterministic_link(kurz):
    first = await shared(kurz, f"{URL}#one")
    second = await shared(kurz, f"{URL}#two")
    assert (second.is_new, second.link.location) == (False, f"{URL}#one")
    custom = await shared(kurz, f"{URL}#two", custom_code="part-two")
    assert (custom.is_new, custom.link.location) == (True, f"{URL}#two")
    assert custom.link.id != first.link.id


@pytest.mark.parametrize("end", ["expired", "deleted", "deleted and expired", "marked"])
async def test_a_dead_deterministic_link_comes_back_with_the_new_fields(kurz, end):
    first = await shared(
        kurz, f"{URL}#old", title="old", tags=("old",), expires_in_seconds=60, max_clicks=5
    )
    assert await kurz.store.spend_click(first.link.id)
    await set_row(kurz, first.link, redirect_count=7, avg_redirect_ms=1.5)
    if end.startswith("deleted"):
        await kurz.links.delete(public(kurz, first.link), ANY)
    if end != "deleted":
        kurz.clock.advance(seconds=60)
    if end == "marked":
        await set_row(kurz, first.link, status=Status.EXPIRED)
    before = await fetch(kurz, first.link)
    again = await shared(kurz, f"{URL}#new", title="new", notes="n", redirect_status=301)
    assert again.is_new
    assert again.link == await fetch(kurz, first.link)
    assert again.link == replace(
        before,
        version=before.version + 1,
        status=Status.ACTIVE,
        deleted_at=None,
        expires_at=None,
        original_url=f"{URL}#new",
        location=f"{URL}#new",
        title="new",
        tags=(),
        notes="n",
        redirect_status=301,
        max_clicks=None,
        clicks_used=0,
        updated_at=kurz.clock.now(),
    )
    assert (again.link.redirect_count, again.link.avg_redirect_ms) == (7, 1.5)
    assert again.link.short_code == first.link.short_code


async def test_a_dead_link_is_revived_by_one_of_many(kurz):
    first = await shared(kurz)
    await kurz.links.delete(public(kurz, first.link), ANY)
    answers = await asyncio.gather(*(shared(kurz, title=str(number)) for number in range(20)))
    assert sum(answer.is_new for answer in answers) == 1
    assert {answer.link.version for answer in answers} == {3}
    assert await number_of_links(kurz) == 1


async def test_a_revival_is_undone_when_its_request_was_answered_already(kurz):
    first = await shared(kurz)
    await kurz.links.delete(public(kurz, first.link), ANY)
    deleted = await fetch(kurz, first.link)
    receipt = Receipt("account:1", b"key", b"print", kurz.clock.now(), lambda _: b"answer")
    await SqlReceiptStore(kurz.database).keep(receipt, None)
    draft = Draft(original_url=URL, workspace_id=1)
    with pytest.raises(AlreadyAnswered):
        await kurz.links.create(draft, receipt=receipt)
    assert await fetch(kurz, first.link) == deleted


async def test_a_banned_link_never_comes_back(kurz):
    first = await shared(kurz, expires_in_seconds=60)
    await set_row(kurz, first.link, status=Status.BANNED)
    banned = await fetch(kurz, first.link)
    for seconds in 0, 60:
        kurz.clock.advance(seconds=seconds)
        with pytest.raises(LinkBanned):
            await shared(kurz)
    assert await fetch(kurz, first.link) == banned
    assert await number_of_links(kurz) == 1


@pytest.mark.parametrize("status", [Status.PAUSED, Status.EXHAUSTED])
async def test_a_resting_link_is_given_back_as_it_is(kurz, status):
    first = await shared(kurz, max_clicks=1)
    await set_row(kurz, first.link, status=status, clicks_used=1)
    again = await shared(kurz, title="new")
    assert (again.is_new, again.link) == (False, await fetch(kurz, first.link))
    assert again.link.title is None


async def test_an_edited_url_makes_a_deterministic_link_a_custom_one(kurz):
    first = await shared(kurz)
    other = "https://other.example/"
    edited = await kurz.links.edit(public(kurz, first.link), ANY, {"original_url": other})
    assert (edited.strategy, edited.short_code) == (Strategy.CUSTOM, first.link.short_code)
    assert (edited.original_url, edited.location, edited.canonical_url) == (other, other, other)
    again = await shared(kurz)
    assert again.is_new
    assert again.link.short_code == deterministic.generate(URL, 1, salt=1)
    assert (await shared(kurz, other)).is_new


async def test_an_edit_to_the_same_canonical_url_keeps_it_deterministic(kurz):
    first = await shared(kurz)
    edit = {"original_url": f"{URL}/#part"}
    edited = await kurz.links.edit(public(kurz, first.link), ANY, edit)
    assert (edited.strategy, edited.location) == (Strategy.DETERMINISTIC, f"{URL}/#part")
    assert (await shared(kurz)).link == edited


async def test_a_renamed_deterministic_link_is_a_custom_one(kurz):
    first = await shared(kurz)
    edit = {"custom_code": "renamed"}
    edited = await kurz.links.edit(public(kurz, first.link), ANY, edit)
    assert (edited.strategy, edited.short_code) == (Strategy.CUSTOM, "renamed")
    again = await shared(kurz)
    assert (again.is_new, again.link.short_code) == (True, first.link.short_code)


async def take_salted_codes(kurz, salts: Iterable[int]) -> None:
    for salt in salts:
        code = deterministic.generate(URL, 1, salt)
        await shared(kurz, f"https://other.example/{salt}", custom_code=code)


async def test_salts_are_used_while_codes_are_taken(kurz):
    await take_salted_codes(kurz, range(3))
    created = await shared(kurz)
    assert (created.is_new, created.link.short_code) == (True, deterministic.generate(URL, 1, 3))
    again = await shared(kurz)
    assert (again.is_new, again.link) == (False, created.link)


async def test_the_tenth_salt_is_the_last(kurz):
    await take_salted_codes(kurz, range(9))
    created = await shared(kurz)
    assert created.link.short_code == deterministic.generate(URL, 1, 9)


async def test_ten_taken_codes_exhaust_a_url(kurz):
    await take_salted_codes(kurz, range(10))
    with pytest.raises(CodesExhausted):
        await shared(kurz)
    assert await number_of_links(kurz) == 10


# Random, counted and chosen codes


async def test_a_random_code_is_tried_five_times(kurz):
    for code in "one", "two", "3-3", "4-4":
        await make(kurz, custom_code=code)
    codes = ["one", "two", "3-3", "4-4", "free", "never"]
    created = await service(kurz, random_codes=codes).create(Draft(original_url=URL))
    assert created.link.short_code == "free"
    assert await fetch(kurz, created.link) == created.link


async def test_five_taken_random_codes_exhaust_the_attempt(kurz):
    await make(kurz, custom_code="one")
    attempted = iter(["one"] * 5 + ["free"])
    narrow = service(kurz, random_codes=attempted)
    with pytest.raises(CodesExhausted):
        await narrow.create(Draft(original_url=URL))
    assert list(attempted) == ["free"]
    assert await number_of_links(kurz) == 1


async def test_an_anonymous_link_keeps_its_claim_after_a_collision(kurz):
    await make(kurz, custom_code="one")
    narrow = service(kurz, random_codes=["one", "free"])
    created = await narrow.create(Draft(original_url=URL, is_anonymous=True))
    assert created.claim_token is not None
    row = await stored_row(kurz, created.link)
    assert row["short_code"] == "free"
    assert row["claim_hash"] == hashlib.sha256(created.claim_token.encode()).digest()


@pytest.mark.parametrize("taken", [4, 5])
async def test_taken_counter_values_are_skipped_up_to_five_times(kurz, taken):
    for number in range(taken):
        await make(kurz, custom_code=f"code-{number}")
    counted = service(kurz, counted_code="code-{}".format)
    draft = Draft(original_url=URL, strategy=Strategy.COUNTER)
    if taken == 5:
        with pytest.raises(CodesExhausted):
            await counted.create(draft)
    assert (await counted.create(draft)).link.short_code == f"code-{taken}"


async def test_two_services_never_lease_the_same_numbers(kurz, settings, clock):
    async with open_kurz(settings, clock) as other:
        counters = [
            LeasedCounter(parts.database, block=7) for parts in (kurz, other) for _ in range(2)
        ]
        numbers = await asyncio.gather(*(counters[i % 4].next() for i in range(400)))
    assert len(set(numbers)) == 400
    assert min(numbers) == 0


async def test_blocks_of_a_thousand_are_leased(kurz):
    counter = LeasedCounter(kurz.database, "test")
    assert [await counter.next() for _ in range(3)] == [0, 1, 2]
    assert await kurz.database.write(lease_numbers, "test", 10) == range(1000, 1010)
    assert [await counter.next() for _ in range(998)][-1] == 1010


async def test_two_instances_count_without_a_double(kurz, settings, clock):
    async with open_kurz(settings, clock) as other:
        links = await asyncio.gather(
            *(make(parts, strategy=Strategy.COUNTER) for parts in (kurz, other) for _ in range(30))
        )
    assert len({link.short_code for link in links}) == len({link.id for link in links}) == 60


async def test_both_instances_have_the_same_keys(kurz, settings, clock):
    link = await make(kurz)
    async with open_kurz(settings, clock) as other:
        assert await other.links.get(public(kurz, link), ANY) == link


async def test_of_parallel_creates_with_one_custom_code_one_wins(kurz):
    answers = await asyncio.gather(
        *(make(kurz, f"{URL}/{n}", custom_code="wanted") for n in range(20)),
        return_exceptions=True,
    )
    winners = [answer for answer in answers if isinstance(answer, Link)]
    losers = [answer for answer in answers if isinstance(answer, CustomCodeTaken)]
    assert (len(winners), len(losers)) == (1, 19)
    assert await kurz.links.get_by_code(0, "wanted") == winners[0]


async def test_a_code_in_the_trash_is_still_taken(kurz):
    link = await make(kurz, custom_code="wanted")
    await kurz.links.delete(public(kurz, link), ANY)
    with pytest.raises(CustomCodeTaken):
        await create(kurz, f"{URL}/other", custom_code="wanted")


async def test_what_the_operator_made_is_the_operators_to_make_again(kurz):
    link = await make(kurz, custom_code="wanted")
    again = await create(kurz, custom_code="wanted")
    assert (again.is_new, again.link) == (False, link)
    with pytest.raises(CustomCodeTaken):
        await create(kurz, custom_code="wanted", owner_id=1)


async def test_an_anonymous_link_is_nobodys_to_make_again(kurz):
    link = await make(kurz, is_anonymous=True)
    with pytest.raises(CustomCodeTaken):
        await create(kurz, custom_code=link.short_code)


async def test_the_same_custom_code_in_another_case_is_free(kurz):
    await make(kurz, custom_code="wanted")
    assert (await create(kurz, custom_code="Wanted")).is_new


# Editing


async def test_an_edit_changes_what_it_names_and_nothing_else(kurz):
    link = await make(kurz, title="old", tags=("a",), notes="kept", owner_id=1)
    kurz.clock.advance(seconds=3)
    expires_at = kurz.clock.now() + timedelta(days=1)
    edit = {"title": "new", "tags": (), "expires_at": expires_at, "max_clicks": 3}
    edited = await kurz.links.edit(public(kurz, link), ANY, edit)
    assert edited == replace(link, version=2, updated_at=kurz.clock.now(), **edit)
    assert await fetch(kurz, link) == edited


async def test_every_write_counts_the_version_up_by_one(kurz):
    link = await make(kurz)
    number = public(kurz, link)
    edits = [{"title": "a"}, {"custom_code": "renamed"}, {"is_paused": True}]
    versions = [(await kurz.links.edit(number, ANY, edit)).version for edit in edits]
    versions.append((await kurz.links.delete(number, ANY)).version)
    versions.append((await kurz.links.restore(number, ANY)).version)
    assert versions == [2, 3, 4, 5, 6]


async def test_parallel_edits_are_all_written(kurz):
    link = await make(kurz)
    edits = [{"title": "t"}, {"notes": "n"}, {"max_clicks": 3}]
    await asyncio.gather(*(kurz.links.edit(public(kurz, link), ANY, edit) for edit in edits))
    assert await fetch(kurz, link) == replace(
        link, version=4, title="t", notes="n", max_clicks=3, updated_at=kurz.clock.now()
    )


async def test_an_expected_version_guards_an_edit(kurz):
    link = await make(kurz)
    number = public(kurz, link)
    edited = await kurz.links.edit(number, ANY, {"title": "first"}, expected_version=1)
    for version in 1, 3, 0:
        with pytest.raises(VersionOutdated):
            await kurz.links.edit(number, ANY, {"title": "late"}, expected_version=version)
    assert await fetch(kurz, link) == edited


async def test_of_parallel_edits_of_one_version_one_is_written(kurz):
    link = await make(kurz)
    answers = await asyncio.gather(
        *(
            kurz.links.edit(public(kurz, link), ANY, {"title": str(n)}, expected_version=1)
            for n in range(10)
        ),
        return_exceptions=True,
    )
    assert sum(isinstance(answer, Link) for answer in answers) == 1
    assert sum(isinstance(answer, VersionOutdated) for answer in answers) == 9


async def test_a_link_is_renamed_unless_the_code_is_taken(kurz):
    link, other = await make(kurz), await make(kurz, custom_code="taken")
    with pytest.raises(CustomCodeTaken):
        await kurz.links.edit(public(kurz, link), ANY, {"custom_code": "taken"})
    with pytest.raises(CustomCodeRefused):
        await kurz.links.edit(public(kurz, link), ANY, {"custom_code": "API"})
    assert await fetch(kurz, link) == link
    edited = await kurz.links.edit(public(kurz, link), ANY, {"custom_code": "free"})
    assert (edited.short_code, edited.strategy) == ("free", Strategy.CUSTOM)
    assert await kurz.links.get_by_code(0, "taken") == other
    with pytest.raises(LinkNotFound):
        await kurz.links.get_by_code(0, link.short_code)


async def test_keeping_the_code_keeps_the_strategy(kurz):
    link = await make(kurz)
    edit = {"custom_code": link.short_code, "title": "x"}
    edited = await kurz.links.edit(public(kurz, link), ANY, edit)
    assert (edited.strategy, edited.short_code) == (Strategy.RANDOM, link.short_code)


async def test_an_edited_url_is_judged_like_a_new_one(kurz):
    link = await make(kurz)
    with pytest.raises(UrlRefused):
        await kurz.links.edit(public(kurz, link), ANY, {"original_url": "javascript:alert(1)"})
    assert await fetch(kurz, link) == link


async def test_edited_instants_are_judged_like_new_ones(kurz):
    now = kurz.clock.now()
    link = await make(kurz, expires_at=now + timedelta(days=1))
    for edit in (
        {"expires_at": now},
        {"starts_at": now - timedelta(microseconds=1)},
        {"starts_at": now + timedelta(days=1)},
        {"starts_at": now + timedelta(hours=2), "expires_at": now + timedelta(hours=1)},
    ):
        with pytest.raises(InstantRefused):
            await kurz.links.edit(public(kurz, link), ANY, edit)
    assert await fetch(kurz, link) == link


async def test_an_edit_cannot_end_a_link_before_it_starts(kurz):
    now = kurz.clock.now()
    link = await make(kurz, starts_at=now + timedelta(days=2))
    with pytest.raises(InstantRefused):
        await kurz.links.edit(public(kurz, link), ANY, {"expires_at": now + timedelta(days=1)})
    assert await fetch(kurz, link) == link


async def test_a_link_is_not_restored_to_end_before_it_starts(kurz):
    now = kurz.clock.now()
    link = await make(kurz, starts_at=now + timedelta(days=2))
    await kurz.links.delete(public(kurz, link), ANY)
    with pytest.raises(InstantRefused):
        await kurz.links.restore(public(kurz, link), ANY, expires_at=now + timedelta(days=1))


async def test_a_start_that_has_passed_does_not_hinder_other_edits(kurz):
    link = await make(kurz, starts_at=kurz.clock.now())
    kurz.clock.advance(days=1)
    assert (await kurz.links.edit(public(kurz, link), ANY, {"title": "x"})).title == "x"


async def test_a_paused_link_rests_until_it_is_woken(kurz):
    link = await make(kurz)
    paused = await kurz.links.edit(public(kurz, link), ANY, {"is_paused": True})
    assert kurz.links.status(paused) is Status.PAUSED
    woken = await kurz.links.edit(public(kurz, link), ANY, {"is_paused": False})
    assert kurz.links.status(woken) is Status.ACTIVE


async def test_an_expired_link_lives_again_with_a_later_end(kurz):
    link = await make(kurz, expires_in_seconds=60)
    kurz.clock.advance(seconds=60)
    assert kurz.links.status(link) is Status.EXPIRED
    edit = {"expires_at": kurz.clock.now() + timedelta(seconds=1)}
    edited = await kurz.links.edit(public(kurz, link), ANY, edit)
    assert kurz.links.status(edited) is Status.ACTIVE


async def test_a_link_without_end_is_not_temporary(kurz):
    link = await make(kurz, is_anonymous=True)
    edited = await kurz.links.edit(public(kurz, link), ANY, {"expires_at": None})
    assert (edited.expires_at, edited.link_type) == (None, LinkType.PERMANENT)


# Deleting and restoring


async def test_a_deleted_link_is_in_the_trash(kurz):
    link = await make(kurz)
    kurz.clock.advance(seconds=1)
    now = kurz.clock.now()
    deleted = await kurz.links.delete(public(kurz, link), ANY)
    assert deleted == replace(
        link, version=2, status=Status.DELETED, deleted_at=now, updated_at=now
    )
    assert await fetch(kurz, link) == deleted
    with pytest.raises(LinkNotFound):
        await kurz.links.delete(public(kurz, link), ANY)
    with pytest.raises(LinkNotFound):
        await kurz.links.edit(public(kurz, link), ANY, {"title": "x"})
    assert await fetch(kurz, link) == deleted


async def test_a_banned_link_can_be_neither_edited_deleted_nor_restored(kurz):
    link = await make(kurz)
    await set_row(kurz, link, status=Status.BANNED)
    for attempt in (
        kurz.links.edit(public(kurz, link), ANY, {"title": "x"}),
        kurz.links.delete(public(kurz, link), ANY),
        kurz.links.restore(public(kurz, link), ANY),
    ):
        with pytest.raises(LinkBanned):
            await attempt
    assert await fetch(kurz, link) == replace(link, status=Status.BANNED)


async def test_a_restored_link_is_as_it_was(kurz):
    link = await make(kurz, title="kept", expires_in_seconds=60)
    await kurz.links.delete(public(kurz, link), ANY)
    restored = await kurz.links.restore(public(kurz, link), ANY)
    assert restored == replace(link, version=3)
    assert await fetch(kurz, link) == restored


@pytest.mark.parametrize("is_deleted", [False, True])
async def test_a_restored_expired_link_lives_for_ever(kurz, is_deleted):
    link = await make(kurz, expires_in_seconds=60)
    if is_deleted:
        await kurz.links.delete(public(kurz, link), ANY)
    kurz.clock.advance(seconds=60)
    restored = await kurz.links.restore(public(kurz, link), ANY)
    assert (restored.expires_at, restored.deleted_at) == (None, None)
    assert kurz.links.status(restored) is restored.status is Status.ACTIVE


async def test_a_restored_expired_link_lives_until_the_given_end(kurz):
    link = await make(kurz, expires_in_seconds=60)
    kurz.clock.advance(days=3)
    expires_at = kurz.clock.now() + timedelta(days=1)
    restored = await kurz.links.restore(public(kurz, link), ANY, expires_at=expires_at)
    assert (restored.expires_at, restored.version) == (expires_at, 2)


async def test_a_link_is_not_restored_into_the_past(kurz):
    link = await make(kurz, expires_in_seconds=60)
    kurz.clock.advance(days=3)
    with pytest.raises(InstantRefused):
        await kurz.links.restore(public(kurz, link), ANY, expires_at=kurz.clock.now())
    assert await fetch(kurz, link) == link


async def test_a_temporary_link_restored_without_end_is_permanent(kurz):
    link = await make(kurz, is_anonymous=True)
    kurz.clock.advance(hours=8)
    restored = await kurz.links.restore(public(kurz, link), ANY)
    assert (restored.expires_at, restored.link_type) == (None, LinkType.PERMANENT)


async def test_a_live_link_is_restored_to_itself(kurz):
    link = await make(kurz, expires_in_seconds=60)
    end = kurz.clock.now() + timedelta(days=9)
    assert await kurz.links.restore(public(kurz, link), ANY) == link
    with pytest.raises(InstantRefused, match="is active"):
        await kurz.links.restore(public(kurz, link), ANY, expires_at=end)
    assert await fetch(kurz, link) == link


async def test_parallel_deletes_delete_once(kurz):
    link = await make(kurz)
    answers = await asyncio.gather(
        *(kurz.links.delete(public(kurz, link), ANY) for _ in range(10)), return_exceptions=True
    )
    assert sum(isinstance(answer, Link) for answer in answers) == 1
    assert sum(isinstance(answer, LinkNotFound) for answer in answers) == 9
    assert (await fetch(kurz, link)).version == 2


# Ids and lists


async def test_public_ids_hide_the_row_numbers(kurz):
    links = [await make(kurz) for _ in range(20)]
    ids = [public(kurz, link) for link in links]
    assert len(set(ids)) == 20
    assert all(0 <= number < 2**53 for number in ids)
    assert not set(ids) & {link.id for link in links}
    assert ids not in (sorted(ids), sorted(ids, reverse=True))
    for link, number in zip(links, ids, strict=True):
        assert await kurz.links.get(number, ANY) == link


async def test_unknown_ids_are_not_found(kurz):
    link = await make(kurz)
    for number in 0, 1, 2, 2**53 - 1, 2**53, 2**64, 10**40, -1:
        assert public(kurz, link) != number
        for attempt in (
            kurz.links.get(number, ANY),
            kurz.links.edit(number, ANY, {"title": "x"}),
            kurz.links.delete(number, ANY),
            kurz.links.restore(number, ANY),
        ):
            with pytest.raises(LinkNotFound):
                await attempt


async def test_links_of_others_look_as_if_they_did_not_exist(kurz):
    link = await make(kurz, owner_id=1)
    for scope in Scope(0, 2), Scope(1), Scope(1, 1):
        for attempt in (
            kurz.links.get(public(kurz, link), scope),
            kurz.links.edit(public(kurz, link), scope, {"title": "x"}),
            kurz.links.delete(public(kurz, link), scope),
            kurz.links.restore(public(kurz, link), scope),
        ):
            with pytest.raises(LinkNotFound):
                await attempt
    assert await fetch(kurz, link) == link


async def all_pages(kurz, limit: int, total: int) -> list[list[Link]]:
    pages: list[list[Link]] = []
    cursor = None
    while not pages or cursor is not None:
        page = await kurz.links.list(ANY, ALL, cursor=cursor, limit=limit)
        assert page.total == total
        pages.append(list(page.links))
        cursor = page.next_cursor
    return pages


async def test_pages_hold_every_link_once(kurz):
    made = await asyncio.gather(*(make(kurz, f"{URL}/{n}") for n in range(120)))
    newest_first = sorted(made, key=lambda link: link.id, reverse=True)
    for limit in 17, 50, 60, 119, 120, 121, 1000:
        pages = await all_pages(kurz, limit, total=120)
        assert [link for page in pages for link in page] == newest_first
        assert all(0 < len(page) <= limit for page in pages)
        assert len(pages) == -(-120 // limit)


async def test_an_empty_list_is_one_page(kurz):
    page = await kurz.links.list(ANY, ALL)
    assert (page.links, page.total, page.next_cursor) == ((), 0, None)


async def test_links_made_between_two_pages_do_not_shift_them(kurz):
    made = [await make(kurz, f"{URL}/{n}") for n in range(6)]
    first = await kurz.links.list(ANY, ALL, limit=3)
    await make(kurz)
    second = await kurz.links.list(ANY, ALL, limit=3, cursor=first.next_cursor)
    assert [*first.links, *second.links] == made[::-1]


async def test_cursors_that_are_none_are_refused(kurz):
    for cursor in "", "x", "-1", "1.5", str(2**53), "9" * 5000, "0x10", "\0":
        with pytest.raises(CursorRefused):
            await kurz.links.list(ANY, ALL, cursor=cursor)


async def test_a_list_is_filtered_by_the_status_of_the_moment(kurz):
    expiring = await make(kurz, expires_in_seconds=60)
    lasting = await make(kurz)

    async def expired() -> tuple[Link, ...]:
        page = await kurz.links.list(ANY, Filter(status=Status.EXPIRED))
        assert isinstance(page.links, tuple)
        return page.links

    assert await expired() == ()
    kurz.clock.advance(seconds=60)
    assert await expired() == (expiring,)
    page = await kurz.links.list(ANY, Filter(status=Status.ACTIVE))
    assert page.links == (lasting,)


@pytest.mark.parametrize("text", ["a\0b", "\ud800"], ids=ascii)
async def test_text_that_no_engine_can_hold_finds_nothing(kurz, text):
    """An answer or a refusal, the same on both engines, and never a driver's error."""
    await make(kurz, title="a b")
    with pytest.raises(LinkNotFound):
        await kurz.links.get_by_code(0, text)
    try:
        page = await kurz.links.list(ANY, Filter(search=text))
    except KurzError:
        return
    assert page.total == 0
