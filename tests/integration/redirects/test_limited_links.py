"""What uses a click of a limited link up, and what does not."""

import sqlalchemy as sa

from kurz.clicks.segments import list_segments
from kurz.storage.schema.links import links
from kurz.wiring.core import Kurz
from support.journal_reader import read as read_clicks
from support.redirects import EXHAUSTED, PAGE, PROGRAM, URL, check_dead, on_sqlite, redirect
from support.user_agents import PREVIEWS


def recorded(kurz: Kurz) -> int:
    segments = list_segments(kurz.settings.journal_dir)
    return sum(1 for segment in segments for _ in read_clicks(segment))


LOOKING = {
    "HEAD": ("HEAD", {}),
    "prefetch": ("GET", {"sec-purpose": "prefetch"}),
    "prerender": ("GET", {"sec-purpose": "prefetch;prerender"}),
    "old prefetch": ("GET", {"purpose": "prefetch"}),
    "Firefox's old prefetch": ("GET", {"x-moz": "Prefetch"}),
    "Safari's preview": ("GET", {"x-purpose": "preview"}),
    "preview": ("GET+", {}),
    "link preview": ("GET", {"user-agent": "Slackbot-LinkExpanding 1.0 (+https://api.slack.com)"}),
    "messenger": ("GET", {"user-agent": "WhatsApp/2.23.20.0 A"}),
    "bot": (
        "GET",
        {"user-agent": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"},
    ),
    "bot with a long name": ("GET", {"user-agent": "Googlebot/2.1 " + 2000 * "x"}),
    "empty user agent": ("GET", {"user-agent": " "}),
}


async def test_looking_at_a_limited_link_uses_nothing_up(client, kurz, add_link):
    for number, (name, (method, headers)) in enumerate(LOOKING.items()):
        link = await add_link(URL, max_clicks=1)
        path = f"/{link.short_code}{'+' if method == 'GET+' else ''}"
        for accept in (PAGE, PROGRAM) * 3:
            answer = await client.request(method.rstrip("+"), path, headers={**headers, **accept})
            assert answer.status_code == 200, name
            assert "location" not in answer.headers, name
            assert answer.headers["cache-control"] == "no-store"
            assert "example.com" not in answer.text
        assert recorded(kurz) == number, name
        assert (await kurz.store.find_by_code(0, link.short_code)).clicks_used == 0, name
        assert redirect(await client.get(f"/{link.short_code}"))[0] == 302
        assert recorded(kurz) == number + 1


@on_sqlite
async def test_no_program_that_shows_previews_uses_anything_up(client, kurz, add_link):
    link = await add_link(URL, max_clicks=1)
    for agent in PREVIEWS:
        answer = await client.get(f"/{link.short_code}", headers={"user-agent": agent})
        assert answer.json()["original_url"] is None, agent
        assert "location" not in answer.headers, agent
    assert (await kurz.store.find_by_code(0, link.short_code)).clicks_used == 0
    assert redirect(await client.get(f"/{link.short_code}"))[0] == 302


@on_sqlite
async def test_a_program_without_a_user_agent_uses_nothing_up(client, kurz, add_link):
    link = await add_link(URL, max_clicks=1)
    request = client.build_request("GET", f"/{link.short_code}")
    del request.headers["user-agent"]
    assert (await client.send(request)).json()["original_url"] is None
    assert (await kurz.store.find_by_code(0, link.short_code)).clicks_used == 0


@on_sqlite
async def test_a_bot_follows_links_that_are_not_limited(client, add_link):
    link = await add_link(URL)
    answer = await client.get(f"/{link.short_code}", headers={"user-agent": "Googlebot/2.1"})
    assert redirect(answer) == (302, URL, "no-store")


@on_sqlite
async def test_a_prefetch_of_an_unlimited_link_is_a_redirect(client, add_link):
    link = await add_link(URL)
    answer = await client.get(f"/{link.short_code}", headers={"sec-purpose": "prefetch"})
    assert redirect(answer) == (302, URL, "no-store")


async def test_a_link_that_was_used_up_elsewhere_is_exhausted_in_memory(client, kurz, add_link):
    link = await add_link(URL, max_clicks=2)
    address = f"/{link.short_code}"

    async def set_used(clicks: int) -> None:
        """Without a row in the change log, as if it had not been read yet."""
        spent = sa.update(links).values(clicks_used=clicks).where(links.c.id == link.id)
        await kurz.database.write(lambda connection: connection.execute(spent))

    assert redirect(await client.get(address))[0] == 302
    await set_used(2)
    await check_dead(client, address, *EXHAUSTED)
    await set_used(0)
    await check_dead(client, address, *EXHAUSTED)  # the store is not asked again
