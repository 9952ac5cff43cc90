"""Previews of links: pages that show where a link leads."""

from kurz.links.model import Status
from support.redirects import BANNED, EXPIRED, MISSING, URL, check_dead, look, redirect


async def test_a_preview_tells_the_destination_and_the_age(client, add_link, clock):
    link = await add_link(URL, expires_in_seconds=3600)
    clock.advance(minutes=3)
    as_json, as_page = await look(client, f"/{link.short_code}+")
    assert as_json.headers["content-type"] == "application/json"
    assert as_json.json() == {
        "short_url": f"http://kurz.test/{link.short_code}",
        "original_url": URL,
        "created_at": link.created_at.isoformat(),
        "expires_at": link.expires_at.isoformat(),
        "is_held": False,
    }
    assert as_page.headers["content-type"] == "text/html; charset=utf-8"
    for words in ("example.com", "/a/path?x=1#part", "3 minutes ago", "in 57 minutes"):
        assert words in as_page.text
    for answer in (as_json, as_page):
        assert answer.status_code == 200
        assert "location" not in answer.headers
        assert answer.headers["cache-control"] == "no-store"


async def test_a_preview_of_a_dead_link_is_as_dead(client, add_link, clock):
    await check_dead(client, "/nothing+", *MISSING)
    for status, answer in (
        (Status.DELETED, MISSING),
        (Status.PAUSED, MISSING),
        (Status.BANNED, BANNED),
    ):
        link = await add_link(f"{URL}-{status}", status=status)
        await check_dead(client, f"/{link.short_code}+", *answer)
    expired = await add_link(URL, expires_in_seconds=1)
    clock.advance(seconds=1)
    await check_dead(client, f"/{expired.short_code}+", *EXPIRED)


async def test_a_private_kurz_shows_no_previews_to_strangers_but_redirects(connect, add_link):
    client = await connect(access="private")
    link = await add_link(URL)
    await check_dead(client, f"/{link.short_code}+", *MISSING)
    assert redirect(await client.get(f"/{link.short_code}")) == (302, URL, "no-store")
