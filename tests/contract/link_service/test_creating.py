"""Creating links, anonymous ones among them, on both engines."""

import hashlib
import json
import re
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from kurz.errors import KurzError
from kurz.links.errors import CustomCodeRefused, StrategyRefused, UrlRefused
from kurz.links.model import Draft, LinkType, Status, Strategy
from kurz.storage.schema import people as people_tables
from support.link_service import (
    ANY,
    URL,
    create,
    fetch,
    number_of_links,
    service,
    shared,
    stored_row,
)
from support.links import create_link

VECTORS = json.loads((Path(__file__).parents[2] / "data" / "vectors.json").read_text())


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
    links = [await create_link(kurz, strategy=Strategy.COUNTER) for _ in range(5)]
    assert all(re.fullmatch("[a-zA-Z0-9]{7}", link.short_code) for link in links)
    assert len({link.short_code for link in links}) == 5
    assert {link.strategy for link in links} == {Strategy.COUNTER}


async def test_a_custom_code_is_taken_as_it_is(kurz):
    link = await create_link(kurz, custom_code="Spring-Sale")
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
        connection.execute(sa.insert(people_tables.domains).values(values))

    def add_workspace(connection: sa.Connection) -> None:
        values = {"id": 1, "name": "Team", "slug": "team", "created_at": 0}
        connection.execute(sa.insert(people_tables.workspaces).values(values))

    await kurz.database.write(add_workspace)
    await kurz.database.write(add_domain, "go.example", 1)
    await kurz.database.write(add_domain, "unproven.example", None)
    own = service(kurz, random_codes=["free"])
    for url in "https://go.example/x", "http://GO.example.:8080/", "https://g%6f.example/":
        with pytest.raises(UrlRefused, match="back to this shortener"):
            await own.create(Draft(original_url=url))
    assert (await own.create(Draft(original_url="https://unproven.example/"))).is_new


async def test_the_redirect_goes_to_the_ascii_form_with_its_fragment(kurz):
    link = await create_link(kurz, "HTTPS://Example.com/ü/?b&a#Teil")
    assert link.original_url == "HTTPS://Example.com/ü/?b&a#Teil"
    assert link.location == "https://example.com/%C3%BC/?b&a#Teil"
    assert link.canonical_url == "https://example.com/%C3%BC?a&b"
    assert (await fetch(kurz, link)).location == link.location


# Anonymous links


async def test_an_anonymous_link_lives_eight_hours(kurz):
    link = await create_link(kurz, is_anonymous=True)
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
    link = await create_link(kurz, owner_id=1)
    assert (await stored_row(kurz, link))["claim_hash"] is None
